"""The time that a `Dictionary` takes: linear in the text, whatever the keys are; a million keys compile."""

import random
import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

import beam_wordpiece as bw
from beam_wordpiece.dictionary_ids import UNKNOWN

Span = tuple[str, int, int]


def seconds(work: Any) -> float:
    times = []
    for _ in range(3):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


HOSTILE = {
    "a, aa, aaa": ([f"{'a' * length}:{length}" for length in range(1, 51)], "a"),
    "near misses": ([f"{'a' * 49}b:1", "a:2"], "a"),
    "nothing but near misses": ([f"{'ab' * 25}c:1"], "ab"),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("unknown", UNKNOWN)
def test_time_is_linear(kind: str, unknown: str) -> None:
    entries, unit = HOSTILE[kind]
    dictionary = bw.Dictionary(entries, unknown=unknown)
    arrays = [pa.array([unit * length]) for length in (100_000, 800_000)]
    short, long = (seconds(lambda array=array: dictionary.encode_arrow(array)) for array in arrays)
    assert long < 24 * short + 0.05
    assert seconds(lambda: dictionary.tokenize(unit * (100_000 // len(unit)))) < 1


def test_ten_thousand_long_keys_and_a_long_text() -> None:
    source = random.Random(3)
    keys = ["".join(source.choices("abcdefgh", k=source.randint(1, 50))) for _ in range(10_000)]
    entries = [f"{key}:{number}" for number, key in enumerate(keys)]
    text = "".join(source.choices([*keys, *"xyz"], k=8_000))[:100_000]
    assert seconds(lambda: bw.Dictionary(entries)) < 20
    dictionary = bw.Dictionary(entries)
    assert dictionary.tokenize_spans(text) == expected_quickly(entries, text)
    assert seconds(lambda: dictionary.tokenize(text)) < 1


def expected_quickly(entries: Sequence[str], text: str) -> list[Span]:
    """The definition for keys of 50 characters at most."""
    ids = dict(reversed([entry.rsplit(":", 1) for entry in entries]))
    found, start = list[Span](), 0
    while start < len(text):
        ends = (end for end in range(min(len(text), start + 50), start, -1) if text[start:end] in ids)
        end = next(ends, start + 1)
        found.append((ids.get(text[start:end], "[UNK]"), start, end))
        start = end
    return found


def test_a_million_entries(full: bool) -> None:
    if not full:
        pytest.skip("compiles for a while: BEAM_WORDPIECE_FULL=1")
    source = random.Random(4)
    keys = {"".join(source.choices("abcdefghijklmnopqrst", k=source.randint(4, 12))) for _ in range(1_050_000)}
    entries = [f"{key}:{number}" for number, key in enumerate(sorted(keys)[:1_000_000])]
    dictionary = bw.Dictionary(entries)
    assert len(dictionary) == 1_000_000
    text = "".join(entry.rpartition(":")[0] for entry in source.choices(entries, k=10_000))[:50_000]
    assert dictionary.tokenize_spans(text) == expected_quickly(entries, text)
