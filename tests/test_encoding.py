"""An Encoding is a sequence of its ids, and a value; its lists are made when they are asked for."""

import copy
import pickle
import weakref
from collections.abc import Sequence
from pathlib import Path

import pytest

import beam_wordpiece as bw
from tests import small


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> bw.Tokenizer:
    path: Path = small.write(tmp_path_factory.mktemp("encoding") / "tokenizer.json", small.document())
    return bw.Tokenizer(bw.Automaton.compile(path))


def encodings(ours: bw.Tokenizer) -> list[bw.Encoding]:
    """Made in all ways that there are."""
    stream = bw.Stream(ours)
    return [
        ours.encode("unaffable cats"),
        ours.encode(""),
        stream.feed("cats un"),
        stream.finish(),
        bw.Encoding([3, 4, 3], ["a", "b", "a"]),
    ]


def test_it_is_a_sequence_of_its_ids(ours: bw.Tokenizer) -> None:
    for encoding in encodings(ours):
        ids = encoding.ids
        assert isinstance(encoding, Sequence)
        assert list(encoding) == ids
        assert list(reversed(encoding)) == ids[::-1]
        assert (len(encoding), bool(encoding)) == (len(ids), bool(ids))
        assert [encoding[place] for place in range(-len(ids), len(ids))] == ids + ids
        assert (encoding[1:], encoding[::-2], encoding[:0]) == (ids[1:], ids[::-2], [])
        for place in (len(ids), -len(ids) - 1):
            with pytest.raises(IndexError):
                encoding[place]
        for id in {*ids, 12345}:
            assert (id in encoding) == (id in ids)
            assert encoding.count(id) == ids.count(id)
            if id in ids:
                assert encoding.index(id) == ids.index(id)
                assert encoding.index(id, encoding.index(id)) == encoding.index(id)
    with pytest.raises(ValueError, match="12345"):
        encoding.index(12345)
    with pytest.raises(TypeError):
        encoding["ids"]  # type: ignore[call-overload]


def test_it_is_put_behind_and_before_lists(ours: bw.Tokenizer) -> None:
    other = [7]
    for encoding in encodings(ours):
        ids = encoding.ids
        together = [other + encoding, encoding + other, encoding + encoding]
        assert together == [[7, *ids], [*ids, 7], ids + ids]
        assert all(type(numbers) is list for numbers in together)
        gathered = [7]
        gathered += encoding
        assert gathered == [7, *ids]
        for no_list in ((1,), 1, "a", None):
            with pytest.raises(TypeError):
                encoding + no_list  # type: ignore[operator]
            with pytest.raises(TypeError):
                no_list + encoding  # type: ignore[operator]


def test_it_is_equal_to_a_list_of_its_ids(ours: bw.Tokenizer) -> None:
    for encoding in encodings(ours):
        ids = encoding.ids
        assert encoding == ids
        assert ids == encoding
        assert encoding != [*ids, 7]
        assert [*ids, 7] != encoding
        assert encoding != tuple(ids)
        assert encoding != "ids"
        with pytest.raises(TypeError, match="unhashable"):
            hash(encoding)
    assert encoding != bw.Encoding(ids, ["x"] * len(ids))


def test_it_is_matched_like_a_list() -> None:
    match bw.Encoding([3, 4], ["a", "b"]):
        case [first, second]:
            assert (first, second) == (3, 4)
        case _:
            pytest.fail("it is no sequence")


def test_the_lists_are_made_once(ours: bw.Tokenizer) -> None:
    encoding = ours.encode("unaffable cats")
    assert encoding.offsets is encoding.offsets
    assert encoding.word_ids is encoding.word_ids
    assert encoding.offsets[1:3] == [(0, 2), (2, 5)]
    assert encoding.word_ids == [None, 0, 0, 0, 1, 1, None]


def test_who_has_no_offsets_says_how_to_get_them(ours: bw.Tokenizer) -> None:
    stream = bw.Stream(ours)
    made = bw.Encoding([1], ["a"])
    for encoding in (stream.feed("cats "), stream.finish(), made, pickle.loads(pickle.dumps(made))):
        for name in ("offsets", "word_ids"):
            with pytest.raises(ValueError, match="offsets=True"):
                getattr(encoding, name)
    assert bw.Encoding([1], ["a"], [(0, 1)], [0]).offsets == [(0, 1)]


def test_offsets_are_pickled_and_copied(ours: bw.Tokenizer) -> None:
    stream = bw.Stream(ours, offsets=True)
    for encoding in (ours.encode("unaffable cats"), stream.feed("cats un"), bw.Encoding([1], ["a"], [(2, 3)], [0])):
        for other in (pickle.loads(pickle.dumps(encoding)), copy.copy(encoding), copy.deepcopy(encoding)):
            assert other == encoding
            assert (other.offsets, other.word_ids) == (encoding.offsets, encoding.word_ids)


def test_it_keeps_its_text_alive_and_nothing_else(ours: bw.Tokenizer) -> None:
    class Text(str):
        """A text that can be watched."""

    gone = []
    text = Text("cats")
    watch = weakref.ref(text, gone.append)
    encoding = ours.encode(text)
    del text
    assert watch() == "cats"
    assert encoding.offsets == [(0, 0), (0, 3), (3, 4), (0, 0)]
    del encoding
    assert watch() is None
    assert len(gone) == 1
