"""Where Arrow takes memory from in the programs of `pipelines`, which is decided when they are imported."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator was measured")
@pytest.mark.parametrize(("named", "used"), [(None, "system"), ("mimalloc", "mimalloc")])
def test_arrow_takes_memory_where_programs_say(named: str | None, used: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    environment |= {"ARROW_DEFAULT_MEMORY_POOL": named} if named else {}
    code = "import pipelines.tokenize_parquet, pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == f"{used}\n"
