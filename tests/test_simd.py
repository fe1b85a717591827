"""Every level of vector instructions gives the ids of HF."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers.normalizers import BertNormalizer

from tests.conftest import ROOT
from tests.oracle import batches, digest, hf_ids, hf_tokenizer
from tests.simd_driver import BATCH, MODES, fixed_texts


@pytest.fixture(scope="module")
def expected(tokenizer_json: Path) -> dict[str, list[str]]:
    """HF's digests, as `simd_driver` prints ours."""
    digests = {}
    for mode, options in MODES.items():
        hf = hf_tokenizer(tokenizer_json)
        hf.normalizer = BertNormalizer(**options)
        digests[mode] = [digest(hf_ids(hf, batch)) for batch in batches(fixed_texts(), BATCH)]
    return digests


def run(level: str, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run Python with a level forced; the variable is read once in a process."""
    environment = {**os.environ, "BEAM_WORDPIECE_SIMD": level}
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100, check=False
    )


@pytest.fixture(scope="module")
def levels() -> list[str]:
    """The levels that this processor has: the message about one that there is not names them."""
    refused = run("no such level", "-c", "from beam_wordpiece import _core; _core.simd_level()")
    assert refused.returncode == 1
    message = refused.stderr.strip().splitlines()[-1]
    assert message.startswith('beam_wordpiece.errors.ConfigError: BEAM_WORDPIECE_SIMD is "no such level"')
    return message.partition("this processor has the levels ")[2].split(", ")


def test_portable_is_always_there(levels: list[str]) -> None:
    assert levels[-1] == "portable"


@pytest.mark.parametrize("level", ["portable", "avx2", "avx512"])
def test_level(level: str, levels: list[str], tokenizer_json: Path, expected: dict[str, list[str]]) -> None:
    if level not in levels:
        pytest.skip(f"this processor lacks the instructions of {level}; it has the levels {', '.join(levels)}")
    ran = run(level, "-m", "tests.simd_driver", str(tokenizer_json))
    assert ran.returncode == 0, ran.stderr
    printed = json.loads(ran.stdout)
    assert printed["level"] == level
    for mode in MODES:
        pairs = zip(printed["digests"][mode], expected[mode], strict=True)
        different = [number for number, (ours, theirs) in enumerate(pairs) if ours != theirs]
        assert not different, f"{mode}: other ids than HF's in batches {different} of {BATCH} of fixed_texts()"
