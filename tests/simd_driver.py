"""Encode fixed texts at the level of vector instructions that BEAM_WORDPIECE_SIMD names, and print what came out.

The variable is read once in a process, so each level needs one of its own: `python -m tests.simd_driver`.
"""

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import beam_wordpiece as bw
from beam_wordpiece import _core
from pipelines import local_text
from tests.oracle import batches, digest, our_ids
from tests.texts import random_texts

# How the vocabulary of the tests is used: uncased as it is, and cased.
MODES = {"uncased": {"lowercase": True}, "cased": {"lowercase": False}}
BATCH = 1_000


def fixed_texts() -> Iterator[str]:
    """Random text, real text, and every length up to three blocks of 64 bytes in several scripts."""
    yield from random_texts(seed=3, count=15_000)
    yield from (text for _, _, text in itertools.islice(local_text.documents(), 40))
    for unit in ("a", "é", "語", "😀", "각", "a\u0300", "-", "Ab c ", "x\x7f", "\u302e\u1b44"):
        yield from ("x" * shift + unit * count for shift in range(4) for count in range(1, 200))


def main() -> None:
    """Print the level, and for each mode a digest of the ids of every BATCH texts."""
    vocabulary = Path(sys.argv[1])
    digests = {}
    for mode, options in MODES.items():
        tokenizer = bw.Tokenizer(bw.Automaton.compile(vocabulary, **options))
        digests[mode] = [digest(our_ids(tokenizer, batch)) for batch in batches(fixed_texts(), BATCH)]
    json.dump({"level": _core.simd_level(), "digests": digests}, sys.stdout)


if __name__ == "__main__":
    main()
