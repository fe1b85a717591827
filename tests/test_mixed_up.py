"""A file or an object of another kind than the one that is wanted: the message says what it is, and what takes it."""

from __future__ import annotations

from pathlib import Path

import pytest

import beam_wordpiece as bw
from beam_wordpiece.cli import main
from tests import small

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return small.write(tmp_path / "tokenizer.json", small.document())


@pytest.fixture
def automaton(source: Path) -> bw.Automaton:
    return bw.Automaton.compile(source)


@pytest.fixture
def saved(automaton: bw.Automaton, tmp_path: Path) -> Path:
    automaton.save(tmp_path / "small.bwp")
    return tmp_path / "small.bwp"


def fault(arguments: list[str | Path], capsys: pytest.CaptureFixture[str]) -> str:
    """What is said on standard error by a command that fails, and says nothing else."""
    assert main(list(map(str, arguments))) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_an_automaton_where_a_vocabulary_is_wanted(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "new.json"
    bw.Dictionary(["a:1"]).save(tmp_path / "d.bwp")
    for arguments in (
        ["convert", saved, "-o", output],
        ["compile", saved, "-o", output],
        ["compile", tmp_path / "d.bwp", "-o", output],
    ):
        assert "is an automaton or a dictionary, compiled already, where a vocab" in fault(arguments, capsys)
    assert not output.exists()
    with pytest.raises(bw.VocabularyError, match=r"small\.bwp is an automaton .*`encode --automaton`.*Automaton\.open"):
        bw.load_vocabulary(saved)


def test_a_vocabulary_where_an_automaton_is_wanted(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "my model"
    folder.mkdir()
    vocab = small.write_vocab(folder / "vocab.txt")
    for path, name in ((source, "tokenizer"), (vocab, "vocab"), (folder, "'my model'")):
        for arguments in (["inspect", path], ["encode", "--automaton", path, "a"]):
            said = fault(arguments, capsys)
            assert f"{path} is not an automaton; if it is a tokenizer, compile it first: beam-wordpiece" in said
            assert f" -o {name}.bwp, or Automaton.compile." in said
    with pytest.raises(FileNotFoundError):
        bw.Automaton.open(tmp_path / "none.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(IsADirectoryError):
        bw.Automaton.open(tmp_path / "empty")


def test_an_automaton_may_have_any_name(automaton: bw.Automaton, tmp_path: Path) -> None:
    automaton.save(tmp_path / "small.json")
    assert bw.Automaton.open(tmp_path / "small.json").fingerprint == automaton.fingerprint


def test_the_entries_of_a_dictionary_where_a_vocabulary_is_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = tmp_path / "entries.txt"
    entries.write_text("cat:10\na:b:11\n", encoding="utf-8")
    for arguments in (["encode", "--tokenizer", entries, "a"], ["compile", entries, "-o", tmp_path / "new.bwp"]):
        said = fault(arguments, capsys)
        assert "every line is <key>:<id>" in said
        assert "`beam-wordpiece dictionary`" in said
    entries.write_text("cat:10\n:11\n", encoding="utf-8")
    said = fault(["encode", "--tokenizer", entries, "a"], capsys)
    assert "add it, or name the right one with unk_token (--unk-token at the shell)" in said
    entries.write_text("[UNK]\na:b\n", encoding="utf-8")
    assert bw.load_vocabulary(entries).tokens == {"[UNK]": 0, "a:b": 1}


def test_a_dictionary_where_an_automaton_of_a_vocabulary_is_wanted(tmp_path: Path) -> None:
    bw.Dictionary(["a:1"]).save(tmp_path / "d.bwp")
    with pytest.raises(bw.AutomatonError, match="at the shell give it to `beam-wordpiece encode --automaton`"):
        bw.Automaton.open(tmp_path / "d.bwp")


def test_there_is_no_way_back_from_a_vocab_txt(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    normal, output = tmp_path / "normal.txt", tmp_path / "back.json"
    assert main(["convert", str(source), "-o", str(normal)]) == 0
    folder = tmp_path / "folder"
    folder.mkdir()
    small.write_vocab(folder / "vocab.txt")
    capsys.readouterr()
    for path in (normal, folder):
        said = fault(["convert", path, "-o", output, "--back"], capsys)
        assert "a vocab.txt does not say whether it is in the normal form" in said
        assert "give the tokenizer.json that has the normal form, or the tokenizer that it was made of" in said
    assert not output.exists()


def write_tokens(path: Path, tokens: list[str]) -> Path:
    path.write_text("".join(f"{token}\n" for token in ["[UNK]", *tokens]), encoding="utf-8")
    return path


@pytest.mark.parametrize("marker", [" ", "▁", "Ġ"])
def test_a_vocab_txt_with_markers_before_words_is_read_with_a_warning(tmp_path: Path, marker: str) -> None:
    marked = [f"{marker}w{number}" for number in range(100)]
    path = write_tokens(tmp_path / "vocab.txt", [*marked, *(f"t{number}" for number in range(299))])
    with pytest.warns(bw.VocabularyWarning, match=f"100 of 400 tokens begin with '{marker}' and none with '##'"):
        vocabulary = bw.load_vocabulary(path)
    assert vocabulary.tokens[f"{marker}w0"] == 1


@pytest.mark.parametrize(
    ("tokens", "options"),
    [
        ([f"▁w{number}" for number in range(99)], {}),
        ([f"▁w{number}" for number in range(100)] + [f"t{number}" for number in range(300)], {}),
        ([f"▁w{number}" for number in range(100)] + ["##a"], {}),
        ([f"▁w{number}" for number in range(100)], {"continuing_subword_prefix": ""}),
        ([f" w{number}" for number in range(100)], {"pretokenize": False, "unknown": "character"}),
    ],
    ids=["few", "a small part", "with ##", "no continuation marker", "no words"],
)
def test_other_markers_are_no_doubt(tmp_path: Path, tokens: list[str], options: dict[str, object]) -> None:
    path = write_tokens(tmp_path / "vocab.txt", tokens)
    assert len(bw.load_vocabulary(path, **options).tokens) == len(tokens) + 1


def test_objects_of_another_kind(automaton: bw.Automaton, source: Path) -> None:
    with pytest.raises(TypeError, match=r"not of str; Automaton\.compile makes one .*Automaton\.open"):
        bw.Tokenizer(str(source))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"not a single str; .*Dictionary\.from_file.*Dictionary\.open"):
        bw.Dictionary("entries.txt")
    for transform in (bw.Tokenize, bw.TokenizeTables, bw.TokenizeFiles, bw.TokenizeChunks):
        with pytest.raises(TypeError, match=r"path of its file, not Automaton: .* Save it, and give the path"):
            transform(automaton)


def test_the_state_of_a_stream_is_bytes_of_any_kind(automaton: bw.Automaton) -> None:
    tokenizer = bw.Tokenizer(automaton)
    stream = bw.Stream(tokenizer)
    begun = list(stream.feed("unaff"))
    state = stream.to_bytes()
    for given in (state, bytearray(state), memoryview(state)):
        again = bw.Stream.from_bytes(tokenizer, given)
        assert [*begun, *again.feed("able"), *again.finish()] == tokenizer.encode("unaffable").ids
    with pytest.raises(TypeError, match="has to be the bytes that to_bytes gave, not str"):
        bw.Stream.from_bytes(tokenizer, "state")  # type: ignore[arg-type]
