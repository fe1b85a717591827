"""The `beam-wordpiece` command, run as people run it."""

import dataclasses
import gzip
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import beam_wordpiece as bw
from beam_wordpiece.cli import main
from beam_wordpiece.settings import OPTIONS
from tests import oracle, small

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = [sys.executable, "-m", "beam_wordpiece.cli"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return small.write(tmp_path / "tokenizer.json", small.document())


@pytest.fixture
def automaton(source: Path) -> Path:
    path = source.with_name("small.bwp")
    bw.Automaton.compile(source).save(path)
    return path


def run(*arguments: str | os.PathLike[str], status: int = 0) -> None:
    assert main([os.fspath(argument) for argument in arguments]) == status


def test_compile_writes_an_automaton(source: Path, automaton: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = source.with_name("other.bwp")
    run("compile", source, "-o", output)
    assert output.read_bytes() == automaton.read_bytes()
    out = capsys.readouterr().out
    assert str(output) in out
    assert bw.Automaton.open(output).fingerprint in out


def test_compile_takes_every_option(source: Path) -> None:
    output = source.with_name("other.bwp")
    content = small.document() | {"truncation": {"max_length": 8}, "padding": {}}
    small.write(source, content)
    flags = "--lowercase false --strip-accents true --clean-text false --handle-chinese-chars false --truncation false"
    more = "--padding false --unk-token [PAD] --max-input-chars-per-word 5 --profile hf"
    more += " --pretokenize false --unknown character"
    run("compile", source, "-o", output, *flags.split(), *more.split(), "--continuing-subword-prefix", "")
    expected = bw.Options(False, True, False, False, "[PAD]", "", 5, "hf", False, "character")
    assert bw.Automaton.open(output).options == expected


def test_the_options_are_those_of_a_job(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("compile", "encode"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        shown = " ".join(capsys.readouterr().out.split())
        for option in OPTIONS:
            assert f"{option.flag} " in shown
            assert option.help in shown


def test_inspect_shows_what_is_in_a_file(automaton: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("inspect", automaton)
    table = capsys.readouterr().out
    opened = bw.Automaton.open(automaton)
    for shown in (opened.fingerprint, "hf", "[MASK]", "[CLS]:0 $A:0 [SEP]:0", "max input chars per word", "special"):
        assert shown in table
    assert not [line for line in table.splitlines() if line != line.rstrip()]
    run("inspect", "--json", automaton)
    assert json.loads(capsys.readouterr().out) == opened.describe()


def test_inspect_counts_rules_and_escapes(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, rules = source.with_name("rules.bwp"), {"_": "-", "\n": " ", **{chr(0x3400 + i): "a" for i in range(5_000)}}
    vocabulary = bw.load_vocabulary(source, rules=rules)
    odd = dataclasses.replace(vocabulary.added_tokens[-1], content="x\ty", id=vocabulary.size)
    bw.Automaton.compile(
        dataclasses.replace(vocabulary, added_tokens=(*vocabulary.added_tokens, odd), source="a\nb.json")
    ).save(path)
    run("inspect", path)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 100
    assert all(line.isprintable() and line.strip() for line in lines)
    assert ["rules", "5,002"] in [line.split() for line in lines]
    assert [line for line in lines if line.split()[0] == r"x\ty"]
    run("inspect", "--json", path)
    assert json.loads(capsys.readouterr().out)["options"]["rules"] == rules


def test_encode_shows_tokens_above_their_ids(automaton: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("encode", "--automaton", automaton, "unaffable cats", "中文")
    assert capsys.readouterr().out.splitlines() == [
        "[CLS]  un  ##aff  ##able  cat  ##s  [SEP]",
        "2      5   6      7       13   14   3",
        "",
        "[CLS]  中  文  [SEP]",
        "2      19  20  3",
    ]


def test_encode_keeps_to_the_width_of_the_terminal(
    automaton: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    run("encode", "--automaton", automaton, "--no-special-tokens", "cat " * 12)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 20
    assert " ".join(lines).split() == [*["cat"] * 4, *["13"] * 4] * 3


def test_encode_reads_documents_from_standard_input(source: Path) -> None:
    text = "a b\r\n\ncaté\u2028cat\n[MASK]".encode()
    result = subprocess.run(
        [*PROGRAM, "encode", "--tokenizer", source, "--json"], input=text, capture_output=True, cwd=ROOT, check=True
    )
    rows = [json.loads(line) for line in result.stdout.decode().splitlines()]
    hf = oracle.hf_tokenizer(source)
    documents = text.decode().split("\n")
    assert [row["text"] for row in rows] == documents
    assert [row["ids"] for row in rows] == oracle.hf_ids(hf, documents)
    assert [row["tokens"] for row in rows] == [hf.encode(document).tokens for document in documents]
    assert result.stderr == b""


def test_text_that_is_not_utf8(automaton: Path) -> None:
    command = [*PROGRAM, "encode", "--automaton", automaton, "--json"]
    result = subprocess.run(command, input=b"a\na\xffb", capture_output=True, cwd=ROOT, check=True)
    assert json.loads(result.stdout.splitlines()[1])["text"] == "a\ufffdb"
    result = subprocess.run([*command, "--errors", "error"], input=b"a\na\xffb", capture_output=True, cwd=ROOT)
    said = b"document 2 is not UTF-8 at byte 1; repair it, or give --errors replace to read each bad part as U+FFFD."
    assert (result.returncode, result.stderr) == (2, b"beam-wordpiece: " + said + b"\n")
    result = subprocess.run([*command, b"a\xffb"], capture_output=True, cwd=ROOT, check=True)
    assert json.loads(result.stdout)["text"] == "a\ufffdb"


def test_what_is_wrong_is_one_line_and_status_2(
    source: Path, automaton: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = source.with_name("broken.json")
    broken.write_text("{")
    output = source.with_name("never.bwp")
    for arguments, message in (
        (("compile", "no/such/file", "-o", output), "no/such/file: No such file or directory"),
        (("compile", broken, "-o", output), f"{broken}: is not JSON"),
        (("compile", source, "-o", source.with_name("none") / "x"), f"{source.with_name('none') / 'x'}: No such file"),
        (("compile", source, "-o", output, "--profile", "google"), 'The profile "google" is not built yet'),
        (("compile", source, "-o", output, "--unk-token", "x"), "the unknown token 'x' is not in the vocabulary"),
        (("inspect", source), str(source)),
        (("inspect", source.with_name("none.bwp")), "none.bwp: No such file or directory"),
        (("compile", source, "-o", output, "--lowercase", "no"), "lowercase has to be true or false, not 'no'"),
        (("compile", source, "-o", output, "--truncation", "true"), "truncation can only be False"),
        (("encode", "--automaton", automaton, "--lowercase", "true", "a"), "lowercase cannot be changed"),
    ):
        run(*arguments, status=2)
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("beam-wordpiece: ")
        assert err.count("\n") == 1
        assert message in err
    assert not output.exists()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"\xef\xbb\xbf[UNK]\na\n", "line 1 starts with a byte order mark"),
        (b"[UNK]\r\na\r\n", "each of lines 1, 2 ends with a carriage return"),
        (b"[UNK]\na \n", "line 2 ends with white space"),
        (b"[UNK]\n\na\n", "line 2 is blank"),
        (b"[UNK]\na\na\n", "line 2 repeats in a later line"),
        (b"[UNK]\n\xff\n", "line 2 is not UTF-8"),
        (b"a\n", "the unknown token '[UNK]' is not in the vocabulary"),
    ],
)
def test_a_bad_vocabulary_ends_the_command_and_leaves_no_output(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    for arguments in (["compile", path, "-o", tmp_path / "out.bwp"], ["encode", "--tokenizer", path, "a"]):
        result = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, cwd=ROOT)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith(f"beam-wordpiece: {path}: {fault}")
        assert result.stderr.count("\n") == 1
        assert os.listdir(tmp_path) == ["vocab.txt"]


def test_a_doubtful_vocabulary_can_be_read_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = tmp_path / "vocab.txt", tmp_path / "out.bwp"
    path.write_bytes(b"[UNK]\r\na\r\n")
    for arguments, shown in (
        (("encode", "--tokenizer", path, "a"), "a\n1\n"),
        (("compile", path, "-o", output), f"{output}: 2 tokens"),
    ):
        run(*arguments, "--doubtful-lines", "warn")
        out, err = capsys.readouterr()
        assert out.startswith(shown)
        assert err.startswith(f"beam-wordpiece: warning: {path}: each of lines 1, 2 ends with a carriage return")
        assert err.count("\n") == 1
    assert bw.Automaton.open(output).id("a") == 1


def test_a_reader_that_leaves_early_is_no_fault(automaton: Path, tmp_path: Path) -> None:
    documents = tmp_path / "documents.txt"
    documents.write_text("unaffable cats\n" * 10_000)
    reading, writing = os.pipe()
    os.close(reading)
    command = [*PROGRAM, "encode", "--automaton", automaton]
    with documents.open() as file:
        result = subprocess.run(command, stdin=file, stdout=writing, stderr=subprocess.PIPE, cwd=ROOT, check=True)
    os.close(writing)
    assert result.stderr == b""


def test_a_terminal_that_cannot_show_a_token_shows_its_escape(automaton: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [*PROGRAM, "encode", "--automaton", automaton, "--no-special-tokens", "中"]
    result = subprocess.run(command, capture_output=True, cwd=ROOT, env=environment, check=True)
    assert result.stdout.split() == [b"\\u4e2d", b"19"]


@pytest.mark.parametrize("command", [[], ["compile"], ["inspect"], ["encode"]], ids=str)
def test_help_teaches_with_examples(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main([*command, "--help"])
    assert exit.value.code == 0
    assert f"examples:\n  beam-wordpiece {' '.join(command)}".rstrip() in capsys.readouterr().out


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["--version"])
    assert exit.value.code == 0
    assert capsys.readouterr().out == f"beam-wordpiece {bw.__version__}\n"
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{bw.__version__}"\n' in declared
    assert "__version__" in dir(bw)


def test_help_shows_an_example_of_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    commands = set(re.findall(r"^    (\w+)(?:  |$)", shown, re.M))
    assert commands >= {"compile", "fewest", "dictionary"}
    assert {command for command in commands if f"  beam-wordpiece {command} " not in shown} == set()


@pytest.mark.parametrize("arguments", [[], ["encode", "a"], ["compile", "x"], ["inspect"], ["tokenize"]], ids=str)
def test_a_wrong_command_line_says_how_it_is_used(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert exit.value.code == 2
    assert capsys.readouterr().err.startswith("usage: beam-wordpiece")


@pytest.mark.parametrize("name", ["tokenizer.json", "notes.txt"])
def test_compile_writes_over_automata_only(source: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The name of the vocabulary itself, given by mistake, must not cost it."""
    target = source.with_name(name)
    if target != source:
        target.write_text("notes", encoding="utf-8")
    before = target.read_bytes()
    assert main(["compile", str(source), "-o", str(target)]) == 2
    assert target.read_bytes() == before
    assert f"{target} is there already and is not an automaton" in capsys.readouterr().err
    fresh = source.with_name("fresh.bwp")
    assert main(["compile", str(source), "-o", str(fresh)]) == 0
    assert main(["compile", str(source), "-o", str(fresh)]) == 0


@pytest.mark.parametrize("command", [["encode"], ["find", "-"], ["fewest", "-"]])
def test_standard_input_may_be_closed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    bw.Dictionary(["a:1"]).save(tmp_path / "a.bwp")
    monkeypatch.setattr("sys.stdin", None)
    name, *files = command
    of = ["--automaton", str(tmp_path / "a.bwp")] if name == "encode" else [str(tmp_path / "a.bwp")]
    assert main([name, *of, *files]) == 2
    assert "standard input is closed" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["txt", "txt.gz"])
def test_a_file_may_be_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    bw.Dictionary(["a:1"]).save(tmp_path / "a.bwp")
    pipe = tmp_path / f"pipe.{suffix}"
    os.mkfifo(pipe)
    content = b"cat\n"
    writer = threading.Thread(
        target=lambda: pipe.write_bytes(gzip.compress(content) if suffix == "txt.gz" else content)
    )
    writer.start()
    status = main(["find", str(tmp_path / "a.bwp"), str(pipe)])
    writer.join()
    assert status == 0
    assert capsys.readouterr().out.split("\t")[1:] == ["1", "1", "2", "1", "a\n"]
