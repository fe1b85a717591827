"""`KeywordStream`: keywords in documents that come in pieces, cut anywhere."""

import codecs
import itertools
import pickle
import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import beam_wordpiece as bw
from beam_wordpiece.reference import find_keys, find_leftmost_longest
from tests.test_dictionary_times import HOSTILE, seconds
from tests.test_keywords import KEYS, TEXTS, WAYS, entries_of

Found = list[tuple[int, int, str]]


def naive(entries: Sequence[str], text: str, overlapping: bool) -> Found:
    return find_keys(entries, text) if overlapping else find_leftmost_longest(entries, text)


def cut(data: bytes, chance: random.Random, most: int = 6) -> list[bytes]:
    bounds = [0, *sorted(chance.choices(range(len(data) + 1), k=chance.randrange(most))), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(bounds)]


def again(stream: bw.KeywordStream) -> bw.KeywordStream:
    """The same stream, by way of its state."""
    restored = bw.KeywordStream.from_bytes(stream.dictionary, stream.to_bytes())
    assert (restored.overlapping, restored.to_bytes()) == (stream.overlapping, stream.to_bytes())
    return restored


@given(
    keys=KEYS,
    texts=st.lists(TEXTS, min_size=1, max_size=3),
    overlapping=st.booleans(),
    unknown=st.sampled_from(WAYS),
    chance=st.randoms(use_true_random=False),
)
def test_documents_cut_anywhere(
    keys: list[str], texts: list[str], overlapping: bool, unknown: str, chance: random.Random
) -> None:
    entries = entries_of(keys)
    dictionary = bw.Dictionary(entries, unknown=unknown)
    stream = bw.KeywordStream(dictionary, overlapping=overlapping)
    pieces, ends = list[bytes](), list[bool]()
    for text in texts:
        chunks = cut(text.encode(), chance)
        pieces, ends = [*pieces, *chunks], [*ends, *[False] * (len(chunks) - 1), True]
        found = Found()
        for chunk in chunks:
            found += stream.feed(chunk)
            stream = again(stream)
        assert found + stream.finish() == naive(entries, text, overlapping)
        places = sorted(chance.choices(range(len(text) + 1), k=3))
        found = [*stream.feed(text[: places[0]]), *stream.feed(pa.scalar(text[places[0] : places[1]]))]
        found += stream.feed(pa.array([text[places[1] : places[2]], None, text[places[2] :]]))
        assert found + stream.finish() == naive(entries, text, overlapping)
    rows: list[Any] = []
    at = chance.randint(0, len(pieces))
    for part, whether in ((pieces[:at], ends[:at]), (pieces[at:], ends[at:])):
        column = stream.feed_arrow(pa.array(part, pa.binary()), pa.array(whether, pa.bool_()))
        assert column.type == dictionary.find_arrow(pa.array([""])).type
        rows += column.to_pylist()
        stream = again(stream)
    documents, open_one = list[Found](), Found()
    for row, is_end in zip(rows, ends, strict=True):
        open_one = [*open_one, *(tuple(found.values()) for found in row)]
        if is_end:
            documents, open_one = [*documents, open_one], []
    assert documents == [naive(entries, text, overlapping) for text in texts]


@given(keys=KEYS, text=TEXTS, overlapping=st.booleans())
def test_what_is_certain_leaves_at_once(keys: list[str], text: str, overlapping: bool) -> None:
    """Certain is what there is however the text goes on: that shows where it ends here, and where a key goes on."""
    entries = entries_of(keys)
    stream = bw.KeywordStream(bw.Dictionary(entries), overlapping=overlapping)
    left = Found()
    for place, character in enumerate(text[:12], 1):
        left += stream.feed(character)
        begun = [text[:place] + key[at:] for key in keys for at in range(len(key) + 1)]
        ways = [naive(entries, way, overlapping) for way in begun]
        if overlapping:
            ways = [[found for found in way if found[1] <= place] for way in ways]
        alike = itertools.takewhile(lambda column: len(set(column)) == 1, zip(*ways, strict=False))
        assert left == [column[0] for column in alike]


@given(
    keys=KEYS,
    parts=st.lists(TEXTS.map(str.encode) | st.binary(max_size=4), max_size=6),
    overlapping=st.booleans(),
    chance=st.randoms(use_true_random=False),
)
def test_text_that_is_not_utf8(keys: list[str], parts: list[bytes], overlapping: bool, chance: random.Random) -> None:
    entries, data = entries_of([*keys, "\ufffd", "\ufffda"]), b"".join(parts)
    chunks = cut(data, chance)
    stream = bw.KeywordStream(bw.Dictionary(entries), overlapping=overlapping)
    found = [occurrence for chunk in chunks for occurrence in stream.feed(chunk)] + stream.finish()
    assert found == naive(entries, data.decode(errors="replace"), overlapping)
    strict = bw.KeywordStream(bw.Dictionary(entries, errors="error"), overlapping=overlapping)
    taken, found = b"", []
    for chunk in chunks:
        before, place = strict.to_bytes(), invalid_at(taken + chunk, False)
        if place is None:
            found += strict.feed(chunk)
            taken += chunk
        else:
            with pytest.raises(bw.TextError, match=f"not UTF-8, at byte {place} of its document"):
                strict.feed(chunk)
            assert strict.to_bytes() == before
    if (place := invalid_at(taken, True)) is None:
        assert found + strict.finish() == naive(entries, taken.decode(), overlapping)
    else:
        with pytest.raises(bw.TextError, match=f"ends within a character, at byte {place}"):
            strict.finish()


def invalid_at(data: bytes, ends: bool) -> int | None:
    """Where data stops being UTF-8 that may go on, or where it `ends`; None where it does not."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, ends)
    except UnicodeDecodeError as error:
        return error.start
    return None


@pytest.mark.parametrize("overlapping", [False, True])
def test_what_another_library_finds(overlapping: bool, documents: list[str]) -> None:
    library = pytest.importorskip("ahocorasick_rs", reason="needs ahocorasick_rs, which is in the extra test")
    source, text = random.Random(8), "".join(documents)[:100_000]
    starts = (source.randrange(len(text) - 20) for _ in range(5_000))
    keys = list(dict.fromkeys(text[start : start + source.randint(1, 12)] for start in starts))
    kind = library.MatchKind.Standard if overlapping else library.MatchKind.LeftmostLongest
    matches = library.AhoCorasick(keys, matchkind=kind).find_matches_as_indexes(text, overlapping=overlapping)
    expected = [(start, end, str(number)) for number, start, end in matches]
    dictionary, data = bw.Dictionary(entries_of(keys)), text.encode()
    for size in (1, 2, 3, 7, 64, 4096):
        stream = bw.KeywordStream(dictionary, overlapping=overlapping)
        chunks = (data[start : start + size] for start in range(0, len(data), size))
        found = [occurrence for chunk in chunks for occurrence in stream.feed(chunk)] + stream.finish()
        assert sorted(found) == sorted(expected)
    assert len(expected) > len(text) / 10


def test_lone_surrogates_and_what_is_no_chunk() -> None:
    stream = bw.KeywordStream(bw.Dictionary(["a\ufffd:1"]))
    assert [*stream.feed("xa"), *stream.feed("\ud800a"), *stream.finish()] == [(1, 3, "1")]
    strict = bw.KeywordStream(bw.Dictionary(["ab:1"], errors="error"))
    strict.feed("a")
    with pytest.raises(bw.TextError, match="lone surrogate at character 0"):
        strict.feed("\ud800")
    assert [*strict.feed("b"), *strict.finish()] == [(0, 2, "1")]
    other: Any = 1
    for wrong in (other, None, [b"a"]):
        with pytest.raises(TypeError, match="chunk has to be str, bytes, or an Arrow"):
            stream.feed(wrong)
    with pytest.raises(bw.InputError, match="int64 is not text"):
        stream.feed(pa.array([1]))
    with pytest.raises(bw.InputError, match="2 chunks, and 1 ends"):
        stream.feed_arrow(pa.array(["a", "b"]), pa.array([True]))
    with pytest.raises(bw.InputError, match="booleans without nulls"):
        stream.feed_arrow(pa.array(["a"]), pa.array([None], pa.bool_()))
    with pytest.raises(bw.TextError, match="row 1 is not UTF-8, at byte 2 of its document"):
        strict.feed_arrow(pa.array([b"ab", b"\xff"]), pa.array([False, True]))
    assert strict.finish() == []


def test_what_a_stream_is_made_of(automaton: bw.Automaton) -> None:
    tokenizer: Any = bw.Tokenizer(automaton)
    with pytest.raises(TypeError, match="made of a Dictionary, not of Tokenizer"):
        bw.KeywordStream(tokenizer)
    backward = bw.Dictionary(["ab:1"], backward=True)
    for ask in (
        lambda: bw.KeywordStream(backward),
        lambda: backward.find("ab"),
        lambda: backward.find("ab", overlapping=True),
    ):
        with pytest.raises(bw.ConfigError, match="backward=True finds no keywords"):
            ask()
    with pytest.raises(bw.ConfigError, match="backward=True finds no keywords"):
        backward.find_arrow(pa.array(["ab"]))
    # How a text is split has nothing to do with where its keys are.
    fewest = bw.Dictionary(["ab:1", "abc:2", "cd:3"], segmentation="fewest")
    assert fewest.tokenize("abcd") == ["1", "3"]
    assert bw.KeywordStream(fewest).feed("abcd") == fewest.find("abcd") == [(0, 3, "2")]


def test_the_state() -> None:
    dictionary = bw.Dictionary(["abc:1", "bcd:2"])
    for overlapping in (False, True):
        stream = bw.KeywordStream(dictionary, overlapping=overlapping)
        stream.feed("x" * 100_000 + "ab")
        stream.feed("é".encode()[:1])
        state = stream.to_bytes()
        assert len(state) < 60
        copy = pickle.loads(pickle.dumps(stream))
        assert (copy.overlapping, copy.to_bytes()) == (overlapping, state)
        for other in (bw.Dictionary(["abc:1"]), bw.Dictionary(["abc:1", "bcd:3"])):
            with pytest.raises(bw.AutomatonError, match="fingerprint"):
                bw.KeywordStream.from_bytes(other, state)
        for place in range(len(state)):
            for damaged in (state[:place], bytes([*state[:place], state[place] ^ 1, *state[place + 1 :]])):
                with pytest.raises(bw.AutomatonError, match="state of the stream cannot be used"):
                    bw.KeywordStream.from_bytes(dictionary, damaged)
        with pytest.raises(bw.AutomatonError, match="no state of a stream"):
            bw.KeywordStream.from_bytes(dictionary, bw.Stream(dictionary).to_bytes())
        with pytest.raises(bw.AutomatonError, match="no state of a stream"):
            bw.Stream.from_bytes(dictionary, state)
        text: Any = "state"
        with pytest.raises(TypeError, match="bytes that to_bytes gave, not str"):
            bw.KeywordStream.from_bytes(dictionary, text)


def test_states_that_were_forged() -> None:
    """With the right checksum: whatever is in them, they are refused, or are that of a stream."""
    xxhash = pytest.importorskip("xxhash", reason="needs xxhash, which is in the extra test")
    dictionary = bw.Dictionary(["abc:1", "aé中:2"])
    source = random.Random(9)
    for overlapping in (False, True):
        stream = bw.KeywordStream(dictionary, overlapping=overlapping)
        stream.feed("xaé中aé".encode()[:-1])
        content = stream.to_bytes()[:-8]
        for _ in range(2_000):
            forged = bytearray(content)
            for _ in range(source.randint(1, 3)):
                forged[source.randrange(20, len(forged))] = source.choice([0, 1, 2, 3, 0x61, 0x7F, 0x80, 0xC3, 0xFF])
            state = bytes(forged) + xxhash.xxh3_64_intdigest(bytes(forged)).to_bytes(8, "little")
            try:
                read = bw.KeywordStream.from_bytes(dictionary, state)
            except bw.AutomatonError:
                continue
            found = [*read.feed("abcaé中"), *read.finish()]
            assert all(0 <= start < end for start, end, _ in found)


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize("size", [1, 64])
def test_time_is_linear(kind: str, overlapping: bool, size: int) -> None:
    entries, unit = HOSTILE[kind]
    dictionary = bw.Dictionary(entries)

    def work(length: int) -> None:
        stream, text = bw.KeywordStream(dictionary, overlapping=overlapping), (unit * length).encode()
        for start in range(0, len(text), size):
            stream.feed(text[start : start + size])

    assert seconds(lambda: work(40_000)) < 24 * seconds(lambda: work(5_000)) + 0.05


@pytest.mark.parametrize("overlapping", [False, True])
def test_small_chunks_of_what_may_be_a_long_key(overlapping: bool) -> None:
    """Whatever is held back is not looked at, or copied, with each chunk: that would take minutes."""
    dictionary = bw.Dictionary([f"{'a' * 100_000}b:1", "c:2"])

    def work() -> None:
        stream = bw.KeywordStream(dictionary, overlapping=overlapping)
        for _ in range(100_000):
            stream.feed(b"a")
        assert stream.feed(b"b") == [(0, 100_001, "1")]

    assert seconds(work) < 5
