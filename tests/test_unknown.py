"""What becomes of unknown characters: tokens, runs, bytes, errors; with words and without, whole and in streams."""

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import beam_wordpiece as bw
from beam_wordpiece.config import FileSettings
from beam_wordpiece.parquet import Layout
from tests.segmentation import (
    BYTES,
    PLAIN,
    POLICIES,
    UNK,
    Load,
    assert_naive,
    jamo,
    loader,
    naive,
    ours,
    spaced,
    texts_with_spaces,
    ways,
)
from tests.strategies import WordProblem, word_problems
from tests.test_chunk_transforms import tokenize


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """See `loader`."""
    return loader(tmp_path_factory.mktemp("segmentation") / "tokenizer.json")


@pytest.mark.parametrize("unknown", POLICIES)
@given(problem=word_problems(), places=texts_with_spaces, pretokenize=st.booleans(), data=st.data())
def test_unknown_characters(
    load: Load, unknown: str, problem: WordProblem, places: list[int], pretokenize: bool, data: st.DataObject
) -> None:
    vocabulary = [*problem.vocabulary, *data.draw(st.lists(st.sampled_from(BYTES), min_size=1, unique=True))]
    text, limit = spaced(problem.word, places), problem.max_input_chars_per_word
    options = {"pretokenize": pretokenize, "unknown": unknown}
    assert_naive(load, vocabulary, text, problem.suffix_indicator, limit, **options)


@given(
    tokens=st.lists(
        st.text("ab각가한", min_size=1, max_size=3).map(lambda text: jamo(text)[0][1:] or text), max_size=8
    ),
    text=st.text("ab각가한글 ", max_size=12),
    way=st.sampled_from(ways("")),
)
def test_offsets_of_hangul_are_those_of_its_syllables(
    load: Load, tokens: list[str], text: str, way: dict[str, Any]
) -> None:
    some_bytes = ["<0xE1>", "<0x84>", "<0x86>", "<0xAB>", "<0x80>", "<0x92>"]
    vocabulary = [*tokens, *some_bytes]
    tokenizer = load(vocabulary, {"lowercase": False, "strip_accents": True, "prefix": ""}, **way)
    split, origins = jamo(text)
    expected = naive([*vocabulary, UNK], split, "", **way)
    assert ours(tokenizer, text) == [(token, origins[start], origins[end - 1] + 1) for token, start, end in expected]


@given(
    problem=word_problems(),
    places=texts_with_spaces,
    way=st.sampled_from([way for way in ways("##") if "segmentation" not in way]),
    cuts=st.lists(st.integers(0, 80), max_size=4).map(sorted),
    offsets=st.booleans(),
)
def test_streams_cut_anywhere_have_the_tokens_of_the_whole(
    load: Load, problem: WordProblem, places: list[int], way: dict[str, Any], cuts: list[int], offsets: bool
) -> None:
    vocabulary = [*problem.vocabulary, *BYTES]
    tokenizer = load(vocabulary, {**PLAIN, "prefix": problem.suffix_indicator}, **way)
    text = spaced(problem.word, places)
    whole, utf8 = tokenizer.encode(text), text.encode()
    for bounds in ([0, *cuts, len(utf8)], list(range(len(utf8) + 1))):
        stream = bw.Stream(tokenizer, offsets=offsets)
        fed = []
        for start, end in itertools.pairwise(bounds):
            fed.append(stream.feed(utf8[start:end]))
            stream = bw.Stream.from_bytes(tokenizer, stream.to_bytes())
        fed.append(stream.finish())
        assert [id for encoding in fed for id in encoding.ids] == whole.ids
        if offsets:
            assert [place for encoding in fed for place in encoding.offsets] == whole.offsets
            assert [word for encoding in fed for word in encoding.word_ids] == whole.word_ids


def test_a_run_leaves_with_its_first_character_or_where_its_place_is_wanted_with_its_end(load: Load) -> None:
    tokenizer = load(["a", "b"], {**PLAIN, "prefix": ""}, pretokenize=False, unknown="run")
    stream = bw.Stream(tokenizer)
    assert [stream.feed(c).tokens for c in "axyb"] == [["a"], [UNK], [], ["b"]]
    stream = bw.Stream(tokenizer, offsets=True)
    fed = [stream.feed(c) for c in "axyb"]
    assert [encoding.tokens for encoding in fed] == [["a"], [], [], [UNK, "b"]]
    assert fed[-1].offsets == [(1, 3), (3, 4)]
    # Another document begins another run.
    assert stream.finish().tokens == []
    assert stream.feed("x").tokens == []
    assert (stream.finish().offsets, stream.feed("x").tokens, stream.finish().offsets) == ([(0, 1)], [], [(0, 1)])


def test_after_an_unknown_character_that_is_an_error_a_stream_is_as_before(load: Load) -> None:
    tokenizer = load(["ab", "c"], {**PLAIN, "prefix": ""}, pretokenize=False, unknown="error")
    stream = bw.Stream(tokenizer)
    assert stream.feed("ca").tokens == ["c"]
    before = stream.to_bytes()
    with pytest.raises(bw.TextError, match=r"'\\n' \(U\+000A\).*add it to the vocabulary, or compile with another"):
        stream.feed("bc\n")
    assert stream.to_bytes() == before
    chunks, ends = pa.array(["b", "c", "cac"]), pa.array([False, True, True])
    with pytest.raises(bw.TextError, match=r"row 2 has the character 'a' \(U\+0061\)") as caught:
        stream.feed_arrow(chunks, ends)
    assert caught.value.row == 2
    assert stream.to_bytes() == before
    assert stream.feed("b").tokens == ["ab"]
    assert stream.finish().tokens == []


def test_an_unknown_character_that_is_an_error_names_its_row(load: Load) -> None:
    tokenizer = load(["ab", "c"], {**PLAIN, "prefix": ""}, pretokenize=False, unknown="error")
    texts = ["ab", None, "abc", "c", "😀"]
    for array, row in (
        (pa.array(texts), 4),
        (pa.chunked_array([texts[:3], texts[3:]]), 4),
        (pa.array(["c", "ab", "ab", "c", "😀"]).dictionary_encode(), 4),
        (pa.array(["c" * 100_000, "ab", "x", "y"]), 2),
    ):
        with pytest.raises(bw.TextError, match=rf"^The text in row {row} has the character") as caught:
            tokenizer.encode_arrow(array)
        assert caught.value.row == row
    assert tokenizer.encode_arrow(pa.array(texts[:4])).column("input_ids").to_pylist() == [[0], None, [0, 1], [1]]


def test_bytes_need_a_token_of_one(load: Load) -> None:
    with pytest.raises(bw.VocabularyError, match=r"none of the tokens <0x00> to <0xFF>.*add them, or give"):
        load(["a", "<0xc3>", "<0x1FF>"], unknown="byte")


@pytest.mark.parametrize("rows", ["documents", "chunks"])
@pytest.mark.parametrize("stateful", [True, False])
def test_documents_in_chunks_with_an_unknown_character_that_is_an_error_are_dead(
    load: Load, tmp_path: Path, rows: str, stateful: bool
) -> None:
    load(["ab", "c"], {**PLAIN, "prefix": ""}, pretokenize=False, unknown="error").automaton.save(tmp_path / "a.bwp")
    arrivals = [bw.Chunk("x", 0, "ca"), bw.Chunk("x", 1, "c", True)]
    arrivals += [bw.Chunk("y", 0, "a"), bw.Chunk("y", 1, "bc", True)]
    given, (letter,) = tokenize(tmp_path / "out", str(tmp_path / "a.bwp"), arrivals, rows=rows, stateful=stateful)
    assert {row.document for row in given if len(row.input_ids) == 2} == {"y"}
    assert letter.document == "x"
    assert "in chunk 1 its text has the character 'a' (U+0061), which begins no token" in letter.reason


def test_files_with_an_unknown_character_that_is_an_error_are_refused_with_the_place(
    load: Load, tmp_path: Path
) -> None:
    tokenizer = load(["a", "b"], {**PLAIN, "prefix": ""}, pretokenize=False, unknown="error")
    table = pa.table({"text": ["ab", None, "axb"]})
    layout = Layout(table.schema, FileSettings(), "a.parquet")
    with pytest.raises(
        bw.InputError, match=r"a\.parquet, row 12: the text of 'text' has the character 'x' \(U\+0078\)"
    ):
        layout.encode(table.to_batches(), tokenizer, 10)
