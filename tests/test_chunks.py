"""Chunks of a document put in order, and what is found wrong with them; without Beam."""

from __future__ import annotations

import io
import pickle
import random
import tracemalloc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import beam_wordpiece as bw
from beam_wordpiece.chunks import encode
from beam_wordpiece.chunks.elements import LEAST_WEIGHT, document_name, split_chunk
from beam_wordpiece.chunks.encode import encode_pieces, first_invalid
from beam_wordpiece.chunks.faults import LISTED, Faults, gaps_between
from beam_wordpiece.chunks.settings import MB, ChunkSettings
from beam_wordpiece.chunks.spool import ChunkSpool, spool_file
from beam_wordpiece.config import FileSettings
from beam_wordpiece.stream import Stream
from tests import scattered
from tests.scattered import Facts


def spool_of(arrivals: list[bw.Chunk], limit: int = MB) -> ChunkSpool:
    spool = ChunkSpool(io.BytesIO(), limit)
    for chunk in arrivals:
        _, piece = split_chunk(chunk)
        spool.add(*piece)
    return spool


def test_chunks_in_any_order_with_all_faults(tokenizer: bw.Tokenizer, full: bool) -> None:
    documents = scattered.documents(1, 20_000 if full else 800)
    faulty = 0
    for arrivals in documents.values():
        facts, spool = Facts(arrivals), spool_of(arrivals)
        faults = spool.faults()
        assert (faults.gaps, faults.conflicts) == (facts.gaps, facts.conflicts)
        assert bool(faults.fatal) == facts.beyond
        assert (spool.chunks, spool.duplicates) == (len(facts.contents), facts.duplicates)
        ids = [column.flatten() for _, column, _ in encode_pieces(Stream(tokenizer), spool.pieces())]
        expected = scattered.encode(tokenizer, facts.texts(without_conflicts=True))
        assert (pa.concat_arrays(ids).to_pylist() if ids else []) == expected
        faulty += bool(faults)
    assert len(documents) // 2 < faulty < len(documents)


@given(st.sets(st.integers(0, 40)), st.booleans(), st.integers(0, 5))
def test_gaps(numbers: set[int], ended: bool, start: int) -> None:
    there = sorted(number for number in numbers if number >= start)
    missing: set[int] = set()
    for first, last in gaps_between(there, ended, start):
        assert (last is None) == (first > max(there, default=start - 1))
        missing |= set(range(first, 50 if last is None else last + 1))
    highest = max(there, default=start - 1)
    expected = set(range(start, highest)) - set(there)
    assert missing == (expected if ended else expected | set(range(highest + 1, 50)))


def test_the_text_of_a_chunk_is_compared_as_bytes() -> None:
    spool = spool_of([bw.Chunk("a", 0, "é"), bw.Chunk("a", 0, "é".encode()), bw.Chunk("a", 0, "é".encode("latin-1"))])
    assert (spool.duplicates, spool.faults().conflicts) == (1, [0])


@pytest.mark.parametrize("first", [True, False])
def test_a_chunk_that_is_the_last_one_and_is_not(first: bool) -> None:
    spool = spool_of([bw.Chunk("a", 0, "x", first), bw.Chunk("a", 0, "x", not first)])
    faults = spool.faults()
    assert (faults.fatal, faults.gaps, faults.conflicts, spool.duplicates) == ([], [], [0], 0)


def test_the_highest_number_as_the_end() -> None:
    def faults(*arrivals: bw.Chunk) -> Faults:
        spool = ChunkSpool(io.BytesIO(), MB, ends_unmarked=True)
        for chunk in arrivals:
            spool.add(*split_chunk(chunk)[1])
        return spool.faults()

    assert not faults(bw.Chunk("a", 1, "y"), bw.Chunk("a", 0, "x"))
    assert faults(bw.Chunk("a", 3, "y"), bw.Chunk("a", 1, "x")).gaps == [(0, 0), (2, 2)]
    marked = faults(bw.Chunk("a", 0, "x", True), bw.Chunk("a", 1, "y"))
    assert marked.fatal == ["chunk 0 is marked as the last one and there is a chunk 1"]
    assert faults(bw.Chunk("a", 0, "x"), bw.Chunk("a", 0, "y")).conflicts == [0]
    assert faults(bw.Chunk("a", -1, "x")).fatal


def test_two_last_chunks() -> None:
    faults = spool_of([bw.Chunk("a", 4, "x", True), bw.Chunk("a", 1, "x", True)]).faults()
    assert faults.fatal == ["chunk 1 is marked as the last one and there is a chunk 4"]
    assert faults.gaps == [(0, 0), (2, 3)]


@pytest.mark.parametrize("number", [-1, -(2**70), 2**63])
def test_numbers_out_of_range(number: int) -> None:
    faults = spool_of([bw.Chunk("a", number, "x", True), bw.Chunk("a", 0, "x", True)]).faults()
    assert faults.fatal == ["1 of its chunks have a number below 0 or above 2**63 - 1"]
    assert faults.gaps == []


def test_the_highest_number() -> None:
    faults = spool_of([bw.Chunk("a", 2**63 - 1, "x", True)]).faults()
    assert (faults.fatal, faults.gaps) == ([], [(0, 2**63 - 2)])


def test_a_document_that_is_too_large() -> None:
    spool = ChunkSpool(io.BytesIO(), 3 * LEAST_WEIGHT)
    assert spool.add(0, b"x" * LEAST_WEIGHT, False)
    assert spool.add(2, b"", False)
    assert spool.add(0, b"x" * LEAST_WEIGHT, False), "what is dropped does not count"
    assert spool.add(1, b"", False)
    assert not spool.add(3, b"", False)
    (reason,) = spool.faults().fatal
    assert reason.startswith("it has more than 0.000732422 MB (max_document_mb;")


def test_memory_of_small_chunks() -> None:
    """What a chunk weighs at least is what it takes, so that the limit bounds memory as well."""
    count = 100_000
    tracemalloc.start()
    with spool_file() as file:
        spool = ChunkSpool(file, 10**9)
        for number in range(count):
            spool.add(number + 10**6, b"", False)
        assert spool.faults().gaps[0] == (0, 10**6 - 1)
        _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < count * LEAST_WEIGHT


def test_text_goes_to_disk_when_it_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beam_wordpiece.chunks.spool.SPOOL_BYTES", 1000)
    file: Any
    with spool_file() as file:
        spool = ChunkSpool(file, MB)
        for number in reversed(range(30)):
            spool.add(number, bytes([number]) * 100, number == 29)
        assert file._rolled
        assert not spool.faults()
        assert [text for _, text, _ in spool.pieces()] == [bytes([number]) * 100 for number in range(30)]


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        (bw.Chunk(7.0, 0, "x"), r"has to be a str or a whole number, not float \(7.0\); give str"),  # type: ignore[arg-type]
        (bw.Chunk(True, 0, "x"), r"has to be a str or a whole number, not bool \(True\)"),
        (bw.Chunk(np.True_, 0, "x"), r"has to be a str or a whole number, not bool"),  # type: ignore[arg-type]
        (bw.Chunk(pa.scalar(None, pa.string()), 0, "x"), r"has to be a str or a whole number, not NoneType"),  # type: ignore[arg-type]
        (bw.Chunk("a", "0", "x"), r"The number of a chunk of 'a' has to be a whole number, not str \('0'\)"),  # type: ignore[arg-type]
        (bw.Chunk("a", 1.0, "x"), r"not float \(1.0\)"),  # type: ignore[arg-type]
        (bw.Chunk("a", 3, 5), "Chunk 3 of 'a' has to be str or bytes, not int"),  # type: ignore[arg-type]
        (bw.Chunk("a", 3, "x", "no"), "`last` of chunk 3 of 'a' has to be True or False, not 'no'"),  # type: ignore[arg-type]
        (bw.Chunk("a", 3, "x", None), "has to be True or False, not None"),  # type: ignore[arg-type]
    ],
)
def test_fields_of_other_types(chunk: bw.Chunk, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        split_chunk(chunk)


def test_fields_that_are_almost_as_they_should_be() -> None:
    assert split_chunk(bw.Chunk("a", np.int64(3), None)) == (b"a", (3, b"", False))  # type: ignore[arg-type]
    assert split_chunk(bw.Chunk("a", 3, "x", np.bool_(True)))[1] == (3, b"x", True)  # type: ignore[arg-type]
    for name in (7, np.int32(7), np.str_("7"), pa.scalar(7), pa.scalar("7")):
        assert split_chunk(bw.Chunk(name, 3, "x"))[0] == b"7"  # type: ignore[arg-type]
    scalars = [pa.scalar(value) for value in (-7, 3, "x", True)]
    assert split_chunk(bw.Chunk(*scalars)) == (b"-7", (3, b"x", True))  # type: ignore[arg-type]
    key, (_, text, _) = split_chunk(bw.Chunk("\ud800", 0, "a\ud800\udc00b"))
    assert document_name(key) == "\ud800"
    assert text.decode("utf-8", "replace") == "a\ufffd\ufffdb", "one for each, as `Tokenizer.encode` has it"


def test_where_text_stops_being_utf8() -> None:
    def invalid(*texts: bytes) -> int | None:
        last = len(texts) - 1
        return first_invalid((number, text, number == last) for number, text in enumerate(texts))

    assert invalid(b"\xe4", b"\xb8", b"", b"\xad") is None
    assert invalid(b"a", b"\xff", b"a") == 1
    assert invalid(b"a\xe4", b"\xb8a", b"a") == 1
    assert invalid(b"a", b"a\xe4\xb8") == 1
    assert first_invalid([(0, b"\xe4", True), (1, b"\xb8", False)]) == 0, "a text does not go on behind a gap"


def test_the_sentence_names_some_and_the_fields_all() -> None:
    gaps = [(number, number) for number in range(1, 2 * (LISTED + 3), 2)]
    letter = Faults(["it is odd"], [*gaps, (90, 95), (100, None)], [0, 4]).letter("a", 5, 1, 0)
    assert letter.reason == (
        "The document 'a' is not whole or not valid: it is odd; chunks missing: 1, 3, 5, 7, 9, 11, 13, 15, 17, 19 and "
        "4 more; no chunk is the last one (mark it with last=True; "
        'end="highest" takes the highest number of bounded input for it); chunks with different contents: 0, 4.'
    )
    assert letter.gaps == [*gaps, (90, 95), (100, None)]
    assert (letter.conflicts, letter.chunks, letter.duplicates, letter.rows) == ([0, 4], 5, 1, 0)


def test_ids_carry_nothing_but_themselves() -> None:
    ids: Any = pa.array(range(100_000), pa.int32())
    for part in (ids.slice(500, 3), ids.slice(0, 0), pa.array([], pa.int32())):
        again = encode.ids_array(encode.ids_bytes(part))
        assert again.equals(part)
        assert len(pickle.dumps(again)) < 500


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows": "words"}, "rows has to be documents or chunks, not 'words'"),
        ({"on_gap": "skip"}, "on_gap has to be dead_letter or emit, not 'skip'"),
        ({"max_document_mb": 0}, "max_document_mb has to be a number above 0, not 0"),
        ({"max_document_mb": "1"}, "max_document_mb has to be a number above 0, not '1'"),
        ({"max_early_mb": -1}, "max_early_mb has to be a number above 0, not -1"),
        ({"max_early_mb": None}, "max_early_mb has to be a number above 0, not None"),
        ({"gap_timeout": float("nan")}, "gap_timeout has to be a number above 0, not nan"),
        ({"gap_timeout": float("inf")}, "gap_timeout has to be a number above 0, not inf"),
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(bw.ConfigError, match=message):
        ChunkSettings(**settings)


def test_a_document_in_one_row_may_be_as_large_as_in_files() -> None:
    assert ChunkSettings().document_bytes == FileSettings().max_document_mb * MB
    assert ChunkSettings(rows="chunks").document_bytes == 1024 * MB
    assert ChunkSettings(max_document_mb=0.5, max_early_mb=0.25).document_bytes == MB // 2


def test_small_chunks_go_together(tokenizer: bw.Tokenizer) -> None:
    chance = random.Random(1)
    texts = [bytes(chance.choices(b"ab c", k=chance.randrange(20))) for _ in range(10_000)]
    pieces = [(number, text, number == 9_999) for number, text in enumerate(texts)]
    batches = list(encode_pieces(Stream(tokenizer), pieces))
    assert len(batches) == 3
    assert [number for numbers, _, _ in batches for number in numbers] == list(range(10_000))
    ids = [number for _, column, _ in batches for number in column.flatten().to_pylist()]
    assert ids == tokenizer.encode(b"".join(texts).decode()).ids


def test_the_chunk_that_the_stream_refuses(automaton: bw.Automaton) -> None:
    stream = Stream(bw.Tokenizer(automaton, errors="error"))
    pieces = [(4, b"a", False), (5, b"b\xff", False), (6, b"c", True)]
    with pytest.raises(encode.InvalidChunk) as caught:
        list(encode_pieces(stream, pieces))
    assert caught.value.number == 5
