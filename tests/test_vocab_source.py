"""What the commands that look at a vocabulary or a dictionary take a file for: all of them the same."""

from pathlib import Path

import pyarrow as pa
import pytest

import beam_wordpiece as bw
from beam_wordpiece import cli, dictionary, fewest_report
from beam_wordpiece.vocab_source import load_source

ENTRIES = ["abcd:1", "abc:2", "def:3", "e:4", "f:5", "a b:x"]
COMMANDS = {
    "fewest": ("text",),
    "find": ("text",),
    "trace": ("argument",),
    "draw": ("--table",),
}


def run(command: str, source: Path, *more: str) -> int:
    """A command on the text abcdef."""
    text = source.with_name("text of " + source.name)
    text.write_text("abcdef\n")
    given = {"text": str(text), "argument": "abcdef"}
    return cli.main([command, str(source), *(given.get(one, one) for one in COMMANDS[command]), *more])


@pytest.fixture
def entries(tmp_path: Path) -> Path:
    path = tmp_path / "entries.txt"
    path.write_text("\n".join(ENTRIES))
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_entries_are_a_dictionary(command: str, entries: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of entries gives what the dictionary that is compiled of it gives, and no word of a vocab.txt."""
    compiled = entries.with_suffix(".bwp")
    assert cli.main(["dictionary", str(entries), "-o", str(compiled)]) == 0
    capsys.readouterr()
    assert run(command, compiled) == 0
    expected = capsys.readouterr().out.replace("entries.bwp", "entries.txt")
    assert "abc" in expected
    for end in ("", "\n", "\r\n"):
        entries.write_bytes((end or "\n").join(ENTRIES).encode() + end.encode())
        assert run(command, entries) == 0
        assert capsys.readouterr() == (expected, "")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"a:1\nb:2\nabc\n", "line 3, 'abc', has no colon"),
        (b"a:1\nb:\nc:3", "line 2, 'b:', has nothing behind its last colon"),
        (b"a:1\n\nb:2\n", "line 2, '', has no colon"),
        (b"\xef\xbb\xbfa:1\nb:2\n", "begins with a byte order mark"),
        (b"a:1\n\xff:2\n", "line 2 is not UTF-8"),
    ],
)
def test_a_line_with_a_fault_is_named(
    command: str, content: bytes, fault: str, entries: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries.write_bytes(content)
    assert run(command, entries) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert fault in err


def test_a_vocab_txt_stays_one(tmp_path: Path) -> None:
    """Where the unknown token is there, whatever it is, or most lines are no entries."""
    path = tmp_path / "vocab.txt"
    for lines, options in (
        (["[UNK]", "a:1", "b:2", "c:3"], {}),
        (["a:1", "b:2", "?:?"], {"unk_token": "?:?"}),
        (["a", ":", "12:30", "[UNK"], {}),
    ):
        path.write_text("\n".join([*lines, ""]))
        if lines[-1] == "[UNK":
            with pytest.warns(bw.VocabularyWarning, match=r"the unknown token '\[UNK\]' is not in the vocabulary"):
                assert isinstance(load_source(str(path), **options), bw.Vocabulary)
        else:
            assert isinstance(load_source(str(path), **options), bw.Vocabulary)


@pytest.mark.parametrize("command", ["fewest", "trace", "draw"])
def test_options_that_a_dictionary_does_not_have(
    command: str, entries: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for flags, fault in (
        (("--lowercase", "false"), "entries.txt has the entries of a dictionary, of which lowercase cannot be said"),
        (("--unk-token", "[U]"), "of which unk_token cannot be said; its options are unknown, backward, seg"),
        (("--unknown", "word"), 'unknown has to be "character", "run" or "carry", not \'word\''),
    ):
        assert run(command, entries, *flags) == 2
        assert fault in capsys.readouterr().err
    for flags in (("--unknown", "carry"), ("--unknown", "run"), ("--segmentation", "fewest", "--unknown-cost", "3")):
        assert run(command, entries, *flags) == 0


def test_a_dictionary_is_compared_with_one_that_is_split_the_other_way(
    entries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is compiled beside that which is there, and it has the cost that was asked for."""
    compiled = list[dict[str, object]]()
    kept = dictionary._compile

    def compile(ids: dict[str, str], unknown: str, split: bw.Options) -> object:
        compiled.append({"segmentation": split.segmentation, "cost": split.unknown_cost, "unknown": unknown})
        return kept(ids, unknown, split)

    monkeypatch.setattr(dictionary, "_compile", compile)
    for segmentation, other in (("greedy", "fewest"), ("fewest", "greedy")):
        bw.Dictionary.from_file(entries, segmentation=segmentation).save(entries.with_suffix(".bwp"))
        compiled.clear()
        comparison = fewest_report.load_comparison(str(entries.with_suffix(".bwp")), "replace")
        assert compiled == [{"segmentation": other, "cost": 1000, "unknown": "character"}]
        comparison.add(pa.array(["abcdef"]))
        assert (comparison.greedy, comparison.fewest) == (3, 2)
        compiled.clear()
        fewest_report.load_comparison(
            str(entries), "replace", segmentation=segmentation, unknown_cost=7, unknown="carry"
        )
        costs = [(one["segmentation"], one["cost"], one["unknown"]) for one in compiled]
        assert sorted(costs) == [("fewest", 7, "carry"), ("greedy", 1000, "carry")]
