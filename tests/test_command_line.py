"""How command lines are read: where options may stand, and what is said about a wrong one."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import beam_wordpiece as bw
from beam_wordpiece.cli import main
from tests import small
from tests.conftest import ROOT

COMMANDS = ("compile", "dictionary", "inspect", "encode", "trace", "draw", "fewest", "find", "convert")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    small.write(tmp_path / "tokenizer.json", small.document())
    bw.Automaton.compile(tmp_path / "tokenizer.json").save(tmp_path / "bert.bwp")
    bw.Dictionary(["he:1", "she:2"]).save(tmp_path / "names.bwp")
    (tmp_path / "a.txt").write_text("she\n")
    (tmp_path / "b.txt").write_text("he\n")
    return tmp_path


@pytest.mark.parametrize(
    ("usual", "mixed"),
    [
        ("find names.bwp a.txt b.txt --overlapping", "find names.bwp --overlapping a.txt b.txt"),
        ("find names.bwp a.txt b.txt --overlapping --json", "find names.bwp --overlapping a.txt --json b.txt"),
        ("fewest bert.bwp a.txt b.txt --examples 1 --json", "fewest bert.bwp a.txt --examples 1 b.txt --json"),
        ("encode --tokenizer bert.bwp --json cat cats", "encode cat --json cats --tokenizer bert.bwp"),
        ("encode --tokenizer bert.bwp -- cat --json", "encode cat --tokenizer bert.bwp -- --json"),
        ("encode --tokenizer bert.bwp -- --json -5", "encode --tokenizer bert.bwp -- --json -5"),
        ("trace bert.bwp cats --json", "trace bert.bwp --json cats"),
    ],
)
def test_options_may_stand_between_arguments(
    folder: Path, capsys: pytest.CaptureFixture[str], usual: str, mixed: str
) -> None:
    assert main(usual.split()) == 0
    expected = capsys.readouterr().out
    assert main(mixed.split()) == 0
    assert capsys.readouterr().out == expected != ""


def test_texts_behind_two_hyphens_are_no_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["encode", "cat", "--tokenizer", "bert.bwp", "--json", "--", "--json", "--tokenizer"]) == 0
    texts = [json.loads(line)["text"] for line in capsys.readouterr().out.splitlines()]
    assert texts == ["cat", "--json", "--tokenizer"]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("encode bert.bwp cat", "one of the arguments --tokenizer --automaton is required"),
        ("find names.bwp --unknwon a.txt", "unrecognized arguments: --unknwon"),
        ("fewest bert.bwp --examples 1", "the following arguments are required: FILE"),
        ("fewest bert.bwp a.txt --examples x", "argument --examples: invalid int value: 'x'"),
        ("inspect bert.bwp names.bwp", "unrecognized arguments: names.bwp"),
        ("compile --output a.bwp", "the following arguments are required: TOKENIZER"),
        ("draw bert.bwp --all --text cat", "not allowed with argument"),
    ],
)
def test_a_wrong_command_line(folder: Path, capsys: pytest.CaptureFixture[str], arguments: str, fault: str) -> None:
    """Its fault stands in the last line, below the short usage of the command."""
    with pytest.raises(SystemExit) as exit:
        main(arguments.split())
    assert exit.value.code == 2
    out, err = capsys.readouterr()
    *usage, last = err.splitlines()
    command = arguments.split()[0]
    assert out == ""
    assert last.startswith(f"beam-wordpiece {command}: {fault}") if "draw" not in command else fault in last
    assert usage[0].startswith(f"usage: beam-wordpiece {command} ")
    assert len(usage) <= 6


@pytest.mark.parametrize("command", COMMANDS)
def test_the_usage_names_the_options_of_the_tokenizer_together(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    usage, _, rest = capsys.readouterr().out.partition("\n\n")
    named = re.findall(r"^  ([A-Z]+)", rest.partition("\n\n")[2].partition("\n\n")[0], re.M)
    assert named
    assert [name for name in named if not re.search(rf"[ \[]{name}\b", usage)] == []
    has_them = "\noptions of the tokenizer" in rest
    assert ("[options of the tokenizer]" in usage) == has_them
    assert not (has_them and "--handle-chinese-chars" in usage)


def test_encode_takes_whatever_a_tokenizer_is_in(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for source in ("--tokenizer tokenizer.json", "--tokenizer bert.bwp", "--automaton bert.bwp"):
        assert main(["encode", *source.split(), "cats"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown == [shown[0]] * 3
    assert main(["encode", "--tokenizer", "names.bwp", "--json", "she"]) == 0
    assert json.loads(capsys.readouterr().out)["ids"] == ["2"]
    assert main(["encode", "--tokenizer", "bert.bwp", "--lowercase", "false", "a"]) == 2
    assert "bert.bwp is compiled and has its options in it (lowercase cannot be changed)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "faults"),
    [
        (
            "--backward true",
            [
                'backward=True does not go with unknown="word"',
                "--unknown character",
                "nor with continuing_subword_prefix='##'",
                '--continuing-subword-prefix ""',
                "--backward true",
            ],
        ),
        (
            "--backward true --pretokenize false --segmentation fewest",
            [
                'pretokenize=False does not go with unknown="word"',
                "--pretokenize true, or --unknown character",
                'nor with segmentation="fewest"',
                "nor with continuing_subword_prefix='##'",
            ],
        ),
    ],
)
def test_options_that_do_not_go_together_are_told_at_once(
    folder: Path, capsys: pytest.CaptureFixture[str], flags: str, faults: list[str]
) -> None:
    """As Python and the shell spell them."""
    assert main(["compile", "tokenizer.json", "-o", "out.bwp", *flags.split()]) == 2
    said = capsys.readouterr().err
    assert [fault for fault in faults if fault not in said] == []
    assert not (folder / "out.bwp").exists()


def test_what_is_written_and_counted_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "none.txt").write_text("cat\n")
    assert main(["compile", "tokenizer.json", "-o", "out.bwp", "--sample", "none.txt"]) == 0
    said = "tokens and 0 words of the sample (too little text, or its frequent words are single tokens), "
    assert said in capsys.readouterr().out
    (folder / "many.txt").write_text("".join(f"[{number}]:{number}\n" for number in range(1_500)))
    assert main(["dictionary", "many.txt", "-o", "out.bwp"]) == 0
    assert capsys.readouterr().out.startswith("out.bwp: 1,500 keys, ")
    (folder / "more.txt").write_text("a:1\nb:2\na:3\n")
    assert main(["dictionary", "more.txt", "-o", "out.bwp"]) == 0
    assert capsys.readouterr().out.startswith("out.bwp: 2 keys (1 entry repeats a key; the first counts), ")
    assert bw.Dictionary.open("out.bwp").tokenize("a") == ["1"]
    (folder / "more.txt").write_text("a:1\n" * 1_500)
    assert main(["dictionary", "more.txt", "-o", "out.bwp"]) == 0
    assert capsys.readouterr().out.startswith("out.bwp: 1 keys (1,499 entries repeat a key; the first counts), ")
    (folder / "vocab.txt").write_text("[UNK]\n" + "\n".join(map(str, range(1_500))))
    assert main(["compile", "vocab.txt", "-o", "out.bwp"]) == 0
    assert capsys.readouterr().out.startswith("out.bwp: 1,501 tokens, ")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("compile", "one that is there is written over, if it is an automaton or a dictionary"),
        ("dictionary", "one that is there is written over, if it is an automaton or a dictionary"),
        ("draw", "the file to write, over one that is there"),
        ("convert", "one that is there is refused"),
        ("find", "Exit status 0, also where nothing is found"),
        ("inspect", "displacements what puts each word"),
        ("", "Exit status 0: done, also where nothing is found; 2: it cannot be done"),
    ],
)
def test_help_says_what_becomes_of_files_and_what_is_meant(
    command: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    assert said in " ".join(capsys.readouterr().out.split())


def test_nothing_found_is_no_fault(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "c.txt").write_text("nothing\n")
    assert main(["find", "names.bwp", "c.txt"]) == 0
    assert capsys.readouterr() == ("", "")


def test_the_package_is_run_as_the_command() -> None:
    result = subprocess.run([sys.executable, "-m", "beam_wordpiece", "--version"], capture_output=True, cwd=ROOT)
    assert result.stdout.decode() == f"beam-wordpiece {bw.__version__}\n"
