"""What the programs of `pipelines` ask of libraries, which is decided when they are imported."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def said(variable: str, value: str | None, expression: str) -> str:
    """What an expression gives in a process that has imported a program, with a variable of the environment or not."""
    environment = {name: set_to for name, set_to in os.environ.items() if name != variable}
    environment |= {variable: value} if value else {}
    code = f"import pipelines.tokenize_parquet, numpy, os, pyarrow; print({expression})"
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return run.stdout.strip()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator was measured")
@pytest.mark.parametrize(("named", "used"), [(None, "system"), ("mimalloc", "mimalloc")])
def test_arrow_takes_memory_where_programs_say(named: str | None, used: str) -> None:
    assert said("ARROW_DEFAULT_MEMORY_POOL", named, "pyarrow.default_memory_pool().backend_name") == used


@pytest.mark.skipif(
    not Path("/proc/self/task").is_dir() or len(os.sched_getaffinity(0)) < 2, reason="threads cannot be counted"
)
def test_no_threads_are_started_for_matrices() -> None:
    threads = [int(said("OPENBLAS_NUM_THREADS", named, "len(os.listdir('/proc/self/task'))")) for named in (None, "2")]
    assert threads[1] == threads[0] + 1, "with the variable numpy starts one, without it none"
