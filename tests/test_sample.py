"""Automata that know the words of a sample: the same ids and the same fingerprint, and only that."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import beam_wordpiece as bw
from beam_wordpiece.cli import main
from tests import oracle, small

SAMPLE = ["unaffable cats cats", None, "unaffable abab. Cats!", "[MASK] zzz cat"]
# "unaffable", "cats"; "abab" occurs once.
SAMPLED = 2


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return small.write(tmp_path / "tokenizer.json", small.document())


def sampled_words(automaton: bw.Automaton) -> int:
    words: int = automaton.describe()["statistics"]["sampled_words"]
    return words


def test_a_sample_changes_no_id_and_no_fingerprint(
    tokenizer_json: Path, automaton: bw.Automaton, documents: list[str]
) -> None:
    half = documents[: len(documents) // 2]
    sampled = bw.Automaton.compile(tokenizer_json, sample=half)
    assert sampled_words(automaton) == 0
    assert sampled_words(sampled) > 300
    assert sampled.fingerprint == automaton.fingerprint
    assert bw.Automaton.compile(tokenizer_json, sample=half).to_bytes() == sampled.to_bytes() != automaton.to_bytes()
    texts = pa.array(documents)
    with_sample, without = (bw.Tokenizer(each).encode_arrow_counted(texts) for each in (sampled, automaton))
    assert with_sample == without
    again = bw.Automaton.from_bytes(sampled.to_bytes())
    oracle.assert_same_ids(oracle.hf_tokenizer(tokenizer_json), bw.Tokenizer(again), documents[:20])


STRING = pa.array(SAMPLE, pa.string())


@pytest.mark.parametrize(
    "sample",
    [
        lambda: [text for text in SAMPLE if text is not None],
        lambda: (text for text in SAMPLE if text is not None),
        lambda: STRING,
        lambda: STRING.cast(pa.large_binary()),
        lambda: STRING.cast(pa.string_view()),
        lambda: STRING.dictionary_encode(),
        lambda: pa.chunked_array([STRING[:1], STRING[1:]]),
        lambda: pa.chunked_array([STRING[:2].dictionary_encode(), STRING[2:].dictionary_encode()]),
        lambda: pa.table({"text": STRING}).column("text"),
        lambda: ["\ud800 unaffable cats", "unaffable cats"],
    ],
)
def test_a_sample_may_come_as_any_texts(source: Path, sample: Callable[[], Any]) -> None:
    automaton = bw.Automaton.compile(source, sample=sample())
    assert sampled_words(automaton) == SAMPLED
    oracle.assert_same_ids(oracle.hf_tokenizer(source), bw.Tokenizer(automaton), small.TEXTS)


def test_rows_with_the_same_text_count_one_by_one(source: Path) -> None:
    """Also where a dictionary has the text once: a word that occurs once would not be taken."""
    for sample in (["abab"] * 2, pa.array(["abab"] * 2).dictionary_encode()):
        assert sampled_words(bw.Automaton.compile(source, sample=sample)) == 1
    assert sampled_words(bw.Automaton.compile(source, sample=["abab"])) == 0


@pytest.mark.parametrize(
    "sample", [[], [""], pa.array([], pa.string()), pa.nulls(3), pa.chunked_array([], pa.string())]
)
def test_a_sample_of_nothing_is_none(source: Path, sample: Any) -> None:
    assert bw.Automaton.compile(source, sample=sample).to_bytes() == bw.Automaton.compile(source).to_bytes()


def test_what_is_no_sample_is_refused(source: Path) -> None:
    for sample, message in (
        ("a text", "an iterable of str, not str"),
        (b"a text", "an iterable of str, not bytes"),
        (7, "an iterable of str, not int"),
        (["a", None], "text 1 is NoneType"),
        ([b"a"], "text 0 is bytes"),
    ):
        with pytest.raises(TypeError, match=message):
            bw.Automaton.compile(source, sample=sample)
    for sample in (pa.array([1]), pa.table({"text": ["a"]}), pa.array([["a"]])):
        with pytest.raises(bw.InputError, match="is not text"):
            bw.Automaton.compile(source, sample=sample)


def test_a_vocabulary_takes_a_sample_too(source: Path) -> None:
    automaton = bw.Automaton.compile(bw.load_vocabulary(source), sample=STRING)
    assert automaton.to_bytes() == bw.Automaton.compile(source, sample=STRING).to_bytes()


def run(*arguments: str | os.PathLike[str]) -> int:
    return main([os.fspath(argument) for argument in arguments])


def test_the_command_reads_a_sample(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet, lines, output = tmp_path / "sample.parquet", tmp_path / "sample.txt", tmp_path / "out.bwp"
    table = pa.table({"text": STRING, "input_ids": [[1]] * 4, "a": pa.array([{"b": text} for text in SAMPLE])})
    pq.write_table(table, parquet)
    lines.write_text("\n".join(text for text in SAMPLE if text is not None), encoding="utf-8")
    expected = bw.Automaton.compile(source, sample=STRING).to_bytes()
    for sample in ([parquet], [lines], [parquet, "--sample-column", "a.b"]):
        assert run("compile", source, "-o", output, "--sample", *sample) == 0
        assert f"{SAMPLED} words of the sample" in capsys.readouterr().out
        assert output.read_bytes() == expected
    pq.write_table(table[:0], parquet)
    assert run("compile", source, "-o", output, "--sample", parquet) == 0
    assert output.read_bytes() == bw.Automaton.compile(source).to_bytes()


def test_a_sample_that_cannot_be_read_is_one_line(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parquet, output = tmp_path / "sample.parquet", tmp_path / "out.bwp"
    pq.write_table(pa.table({"text": STRING, "number": [1, 2, 3, 4]}), parquet)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1")
    for arguments, message in (
        ([tmp_path / "none.txt"], "none.txt: No such file"),
        ([source], "a sample has to be a .parquet, or a .txt"),
        ([broken], "broken.parquet cannot be read as Parquet"),
        ([parquet, "--sample-column", "body"], "body"),
        ([parquet, "--sample-column", "number"], "holds int64, not text"),
    ):
        assert run("compile", source, "-o", output, "--sample", *arguments) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    assert not output.exists()
