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


@pytest.mark.parametrize("level", ["portable", "avx2", "avx512"])
def test_level(level: str, tokenizer_json: Path, expected: dict[str, list[str]]) -> None:
    command = [sys.executable, "-m", "tests.simd_driver", str(tokenizer_json)]
    environment = {**os.environ, "BEAM_WORDPIECE_SIMD": level}
    output = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, timeout=100).stdout
    printed = json.loads(output)
    if printed["level"] != level:
        pytest.skip(f"this processor lacks the instructions of {level}: {printed['level']} was used")
    for mode in MODES:
        pairs = zip(printed["digests"][mode], expected[mode], strict=True)
        different = [number for number, (ours, theirs) in enumerate(pairs) if ours != theirs]
        assert not different, f"{mode}: other ids than HF's in batches {different} of {BATCH} of fixed_texts()"
