"""`Dictionary.find` and `find_arrow`: their definition, what others find, and the time that they take."""

import pickle
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import beam_wordpiece as bw
from beam_wordpiece.reference import find_keys, find_leftmost_longest
from beam_wordpiece.settings import SEGMENTATIONS
from tests.test_dictionary_times import HOSTILE, seconds
from tests.texts import ALL_PIECES

WAYS = ("character", "run", "carry")
KNOWN = ["he:1", "she:2", "his:3", "hers:4"]

# Few characters, so that keys are in texts and in each other: of one to four bytes, a syllable, NUL, U+FFFD.
LETTERS = st.sampled_from(["a", "a", "a", "b", "b", "é", "中", "가", "😀", "\0", "\ufffd", "\uffff", "\U0010ffff"])
WORDS = st.text(LETTERS, min_size=1, max_size=6) | st.text("ab", min_size=1, max_size=9)
KEYS = st.lists(WORDS | st.sampled_from(ALL_PIECES), min_size=1, max_size=12)
TEXTS = st.lists(WORDS | st.sampled_from(ALL_PIECES) | st.text(max_size=3), max_size=12).map("".join)


def entries_of(keys: list[str]) -> list[str]:
    return [f"{key}:{number}" for number, key in enumerate(keys)]


def every_way(dictionary: bw.Dictionary) -> list[Callable[[str], list[tuple[int, int, str]]]]:
    """`find` without overlaps, and with them."""
    return [partial(dictionary.find, overlapping=overlapping) for overlapping in (False, True)]


def test_known_answers() -> None:
    dictionary = bw.Dictionary(KNOWN)
    # The example of Aho and Corasick.
    assert dictionary.find("ushers", overlapping=True) == [(1, 4, "2"), (2, 4, "1"), (2, 6, "4")]
    assert dictionary.find("ushers") == [(1, 4, "2")]
    assert dictionary.find("hershishe") == [(0, 4, "4"), (4, 7, "3"), (7, 9, "1")]
    assert bw.Dictionary(["é😀:x", "中:y"]).find("中é😀中", overlapping=True) == [(0, 1, "y"), (1, 3, "x"), (3, 4, "y")]
    # What was begun and is no key gives back the keys that are in it.
    abcdx = bw.Dictionary(["abcdx:1", "bc:2", "c:3"])
    assert abcdx.find("abcdy") == [(1, 3, "2")]
    assert abcdx.find("abcdy", overlapping=True) == [(1, 3, "2"), (2, 3, "3")]
    for nothing in every_way(dictionary):
        assert nothing("") == nothing("xyz") == []
    empty = bw.Dictionary([])
    assert (
        empty.find("abc", overlapping=True) == empty.find("abc") == empty.find_arrow(pa.array(["abc"]))[0].as_py() == []
    )


@given(KEYS, TEXTS, st.sampled_from(WAYS), st.sampled_from(SEGMENTATIONS))
def test_the_definition(keys: list[str], text: str, unknown: str, segmentation: str) -> None:
    entries = entries_of(keys)
    # How a text is split has nothing to do with where its keys are.
    dictionary = bw.Dictionary(entries, unknown=unknown, segmentation=segmentation)
    assert dictionary.find(text, overlapping=True) == find_keys(entries, text)
    assert dictionary.find(text) == find_leftmost_longest(entries, text)
    if segmentation == "greedy":
        known = [(start, end, id) for id, start, end in dictionary.tokenize_spans(text) if not id.startswith("[UNK]")]
        assert dictionary.find(text) == known


@given(KEYS, TEXTS)
def test_what_another_library_finds(keys: list[str], text: str) -> None:
    library = pytest.importorskip("ahocorasick_rs", reason="needs ahocorasick_rs, which is in the extra test")
    dictionary, distinct = bw.Dictionary(entries_of(keys)), list(dict.fromkeys(keys))
    ids = [str(keys.index(key)) for key in distinct]

    def found(kind: Any, overlapping: bool) -> list[tuple[int, int, str]]:
        matches = library.AhoCorasick(distinct, matchkind=kind).find_matches_as_indexes(text, overlapping=overlapping)
        return [(start, end, ids[number]) for number, start, end in matches]

    assert sorted(dictionary.find(text, overlapping=True)) == sorted(found(library.MatchKind.Standard, True))
    assert dictionary.find(text) == found(library.MatchKind.LeftmostLongest, False)


def test_many_keys_in_real_text(documents: list[str]) -> None:
    library = pytest.importorskip("ahocorasick_rs", reason="needs ahocorasick_rs, which is in the extra test")
    source, text = random.Random(5), "".join(documents)[:300_000]
    starts = (source.randrange(len(text) - 20) for _ in range(20_000))
    keys = list(dict.fromkeys(text[start : start + source.randint(2, 20)] for start in starts))
    dictionary = bw.Dictionary(entries_of(keys))
    matches = library.AhoCorasick(keys).find_matches_as_indexes(text, overlapping=True)
    every = dictionary.find(text, overlapping=True)
    assert sorted(every) == sorted((start, end, str(number)) for number, start, end in matches)
    assert len(every) > len(text) / 4
    longest = library.AhoCorasick(keys, matchkind=library.MatchKind.LeftmostLongest).find_matches_as_indexes(text)
    assert dictionary.find(text) == [(start, end, str(number)) for number, start, end in longest]


# Arrow --------------------------------------------------------------------------------------------------------------


def arrays(texts: list[str | None]) -> list[Any]:
    plain = pa.array(texts, pa.string())
    kinds = [pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view()]
    sliced = pa.array(["hers", *texts, "she"]).slice(1, len(texts))
    return [plain, sliced, pa.chunked_array([plain.slice(0, 2), plain.slice(2)]), plain.dictionary_encode()] + [
        plain.cast(kind) for kind in kinds
    ]


@pytest.mark.parametrize("overlapping", [False, True])
def test_arrow_arrays_of_every_kind(overlapping: bool) -> None:
    dictionary = bw.Dictionary(KNOWN)
    texts = ["ushers", None, "", "her é she", "xyz", "her é she", None]
    find = every_way(dictionary)[overlapping]
    expected = [
        text and [dict(zip(("start", "end", "id"), found, strict=True)) for found in find(text)] for text in texts
    ]
    expected[2] = []
    struct = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("id", pa.string())])
    for array in arrays(texts):
        column = dictionary.find_arrow(array, overlapping=overlapping)
        column.validate(full=True)
        assert column.type == pa.list_(struct)
        assert column.to_pylist() == expected
    for none in (pa.array([], pa.string()), pa.array([None]), pa.chunked_array([], pa.string())):
        assert dictionary.find_arrow(none, overlapping=overlapping).to_pylist() == none.to_pylist()


# Errors and sharing -------------------------------------------------------------------------------------------------


def test_text_that_is_not_utf8() -> None:
    entries = ["a:1", "\ufffd:2", "\ufffdb:3"]
    dictionary = bw.Dictionary(entries)
    for find in every_way(dictionary):
        assert find("a\ud800")[-1] == (1, 2, "2")
    # As Python replaces it: a part for each sequence that is cut off, one for each byte that begins none.
    data = [b"a\xf0\x9f\x98b", b"\xff\xffb", b"\xed\xa0\x80", b"\xe4\xb8", b"a"]
    for overlapping, find in zip((False, True), every_way(dictionary), strict=True):
        column: Any = dictionary.find_arrow(pa.array(data), overlapping=overlapping)
        rows = [[tuple(found.values()) for found in row] for row in column.to_pylist()]
        assert rows == [find(text.decode(errors="replace")) for text in data]
    strict = bw.Dictionary(entries, errors="error")
    for find in every_way(strict):
        with pytest.raises(bw.TextError, match="lone surrogate at character 1"):
            find("a\ud800")
    for array in (pa.array(data[::-1]), pa.array(data[::-1]).dictionary_encode()):
        with pytest.raises(bw.TextError, match="row 1 is not UTF-8 at byte 0") as raised:
            strict.find_arrow(array)
        assert raised.value.row == 1


def test_what_is_no_text() -> None:
    dictionary = bw.Dictionary(KNOWN)
    other: Any = b"she"
    for find in every_way(dictionary):
        with pytest.raises(TypeError, match="has to be a str, not bytes"):
            find(other)
    with pytest.raises(bw.InputError, match="int64 is not text"):
        dictionary.find_arrow(pa.array([1]))
    with pytest.raises(bw.InputError, match="has to be an Arrow array, not list"):
        dictionary.find_arrow(["she"])


def test_threads_that_ask_first_at_once_and_copies(tmp_path: Path) -> None:
    entries = entries_of([f"{number:x}" for number in range(50_000)])
    dictionary, together = bw.Dictionary(entries), threading.Barrier(8)
    text = "deadbeef0123"
    expected = find_keys(entries, text)

    def ask(_: int) -> list[tuple[int, int, str]]:
        together.wait()
        return dictionary.find(text, overlapping=True)

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(8))) == [expected] * 8
    dictionary.save(tmp_path / "d.bwp")
    for copy in (bw.Dictionary.open(tmp_path / "d.bwp"), pickle.loads(pickle.dumps(dictionary))):
        assert copy.find(text, overlapping=True) == expected


def test_an_automaton_that_is_no_dictionary_is_refused(automaton: bw.Automaton) -> None:
    keywords = bw._core.Keywords(automaton._core, strict=False)
    for overlapping in (False, True):
        with pytest.raises(bw.AutomatonError, match="only keys of a dictionary"):
            keywords.find("she", overlapping)


# Time and memory ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("overlapping", [False, True])
def test_time_is_linear(kind: str, overlapping: bool) -> None:
    entries, unit = HOSTILE[kind]
    dictionary = bw.Dictionary(entries)
    texts = [pa.array([unit * length]) for length in (20_000, 160_000)]
    short, long = (seconds(lambda text=text: dictionary.find_arrow(text, overlapping=overlapping)) for text in texts)
    assert long < 24 * short + 0.05


def test_long_keys_that_begin_everywhere() -> None:
    """Reading on behind a key, as far as a longer one may come, and then again from its end would take hours."""
    dictionary = bw.Dictionary(["a:1", f"{'a' * 100_000}b:2"])
    text = "a" * 300_000
    assert seconds(lambda: dictionary.find(text)) < 1
    assert (
        dictionary.find(text)
        == dictionary.find(text, overlapping=True)
        == [(at, at + 1, "1") for at in range(len(text))]
    )


def test_links_are_linear_in_the_keys() -> None:
    """Of keys that end in one another too: 2,000 of up to 2,000 characters have two million pairs of these."""
    dictionary = bw.Dictionary([f"{'a' * length}:{length}" for length in range(1, 2_001)])
    assert dictionary._keywords.link_bytes == 0
    assert len(dictionary.find("a" * 2_000, overlapping=True)) == 2_000 * 2_001 // 2
    assert dictionary._keywords.link_bytes == 12 * dictionary.describe()["statistics"]["units"] < 12 * 4_096


def test_overlapping_has_its_name() -> None:
    """A bare True beside a text says nothing to whoever reads it."""
    dictionary: Any = bw.Dictionary(["a:1"])
    texts = pa.array(["a"])
    for subject, ask in (
        ("a", dictionary.find),
        (texts, dictionary.find_arrow),
        (texts, dictionary.find_arrow_counted),
        (dictionary, bw.KeywordStream),
    ):
        ask(subject, overlapping=True)
        with pytest.raises(TypeError, match="positional argument"):
            ask(subject, True)
