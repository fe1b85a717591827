"""The commands that show the automaton: the steps of the paper, dictionaries and other splits, and what is refused."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import beam_wordpiece as bw
from beam_wordpiece import reference
from beam_wordpiece.cli import main
from beam_wordpiece.show.subject import load_subject
from beam_wordpiece.show.trace import trace
from tests import small
from tests.drawings import parsed
from tests.test_readme import README

Show = Callable[..., str]

STEPS = """\
word abcdz (characters 0 to 5)
step  i  character  v     goes  to    pops    tokens so far
1     0  a          r     edge  a
2     1  b          a     edge  ab
3     2  c          ab    edge  abc
4     3  d          abc   edge  abcd
5     4  z          abcd  f(v)  ##cd  a, ##b  a, ##b
6     4  z          ##cd  f(v)  ##d   ##c     a, ##b, ##c
7     4  z          ##d   edge  ##dz          a, ##b, ##c
8     5  (end)      ##dz  f(v)  r#    ##dz    a, ##b, ##c, ##dz
tokens  a  ##b  ##c  ##dz
ids     1  3    4    6
"""


def test_the_steps_of_the_paper(paper: Path, show: Show) -> None:
    assert show("trace", paper, "abcdz") == STEPS


def test_a_dictionary(tmp_path: Path, show: Show) -> None:
    """From its file, or from a file of entries: keys for tokens, and their ids."""
    entries = tmp_path / "entries.txt"
    entries.write_text("cat:10\ncatalog:11\ns:14\nat:one\\n\nlog:a b\n", encoding="utf-8")
    bw.Dictionary.from_file(entries, unknown="carry").save(tmp_path / "d.bwp")
    shown = show("trace", entries, "catalos é", "--unknown", "carry")
    assert shown == show("trace", tmp_path / "d.bwp", "catalos é")
    assert shown.splitlines() == [
        "text catalos␣é (characters 0 to 9)",
        "step  i  character  v       goes     to      pops              tokens so far",
        "1     0  c          r       edge     c",
        "2     1  a          c       edge     ca",
        "3     2  t          ca      edge     cat",
        "4     3  a          cat     edge     cata",
        "5     4  l          cata    edge     catal",
        "6     5  o          catal   edge     catalo",
        "7     6  s          catalo  f(v)     lo      cat, [UNK]:a      cat, [UNK]:a",
        "8     6  s          lo      f(v)     r       [UNK]:l, [UNK]:o  cat, [UNK]:a, [UNK]:l, [UNK]:o",
        "9     6  s          r       edge     s                         cat, [UNK]:a, [UNK]:l, [UNK]:o",
        "10    7  ␣          s       f(v)     r       s                 cat, [UNK]:a, [UNK]:l, [UNK]:o, s",
        "11    7  ␣          r       unknown  r       [UNK]:␣           cat, [UNK]:a, [UNK]:l, [UNK]:o, s, [UNK]:␣",
        "12    8  é          r       unknown  r       [UNK]:é           "
        "…, [UNK]:a, [UNK]:l, [UNK]:o, s, [UNK]:␣, [UNK]:é",
        "tokens  cat  [UNK]:a  [UNK]:l  [UNK]:o  s   [UNK]:␣  [UNK]:é",
        "ids     10   [UNK]:a  [UNK]:l  [UNK]:o  14  [UNK]:␣  [UNK]:é",
    ]
    assert "read from its end" in show("trace", entries, "cats", "--unknown", "run", "--backward", "true")
    message = show("draw", entries, "--unknown", "run", "--backward", "true", "--keywords", status=2)
    assert "a dictionary that reads from the end, which finds no keywords" in message
    assert "cost of the rest" in show("trace", entries, "cats", "--unknown", "run", "--segmentation", "fewest")
    assert show("trace", entries, "") == show("trace", entries, "", "--unknown", "run")
    assert show("trace", entries, "").startswith("no token: the text is empty")
    rows = [re.split(r" {2,}", line) for line in show("draw", tmp_path / "d.bwp", "--table").splitlines()]
    assert rows[0] == ["node", "key", "id", "f", "F"]
    assert ["log", "log", "a␣b", "r", "log"] in rows
    rows = [re.split(r" {2,}", line) for line in show("draw", tmp_path / "d.bwp", "--table", "--keywords").splitlines()]
    assert rows[0] == ["node", "key", "id", "link", "keys that end there too"]
    assert ["catalog", "catalog", "11", "log", "log"] in rows
    names, _, links, double = parsed(show("draw", entries, "--unknown", "run", "--keywords", "--text", "cats"))
    assert set(names.values()) == {"r", "c", "ca", "cat:10", "s:14", "a", r"at:one\n"}
    assert double == {"cat:10", "s:14", r"at:one\n"}
    assert ("cat:10", "at", r"at:one\n") in links


def test_matched_backward(tmp_path: Path, show: Show) -> None:
    path = small.write_vocab(tmp_path / "vocab.txt", ["[UNK]", "ab", "abc", "c", "<0x78>", "xbc"])
    options = ("--backward", "true", "--continuing-subword-prefix", "", "--unknown", "byte")
    assert show("trace", path, "xxabc", *options).splitlines() == [
        "word xxabc (characters 0 to 5), read from its end",
        "step  i  character  v    goes     to   pops    tokens so far",
        "1     4  c          r    edge     c",
        "2     3  b          c    edge     bc",
        "3     2  a          bc   edge     abc",
        "4     1  x          abc  f(v)     r    abc     abc",
        "5     1  x          r    unknown  r    <0x78>  <0x78>, abc",
        "6     0  x          r    unknown  r    <0x78>  <0x78>, <0x78>, abc",
        "tokens  <0x78>  <0x78>  abc",
        "ids     4       4       2",
    ]
    rows = [re.split(r" {2,}", line) for line in show("draw", path, "--table", "--prefix", "c", *options).splitlines()]
    assert rows[1:] == [
        ["r", "∅"],
        ["b", "r", "[UNK]"],
        ["c", "c", "r", "c"],
        ["bc", "b", "c"],
        ["abc", "abc", "r", "abc"],
        ["xbc", "xbc", "r", "xbc"],
    ]
    assert "no token ends with 'zz'" in show("draw", path, "--prefix", "zz", *options, status=2)
    assert "tokens (double), read from the end" in show("draw", path, *options)


def test_the_fewest_tokens(tmp_path: Path, show: Show) -> None:
    path = small.write_vocab(tmp_path / "vocab.txt", ["[UNK]", "abcd", "abc", "##d", "##e", "##f", "##def"])
    assert show("trace", path, "abcdef", "--segmentation", "fewest").splitlines() == [
        "word abcdef (characters 0 to 6)",
        "i  character  cost of the rest  first token  to  taken",
        "0  a          2                 abc          3   yes",
        "1  b          ∞",
        "2  c          ∞",
        "3  d          1                 ##def        6   yes",
        "4  e          2                 ##e          5",
        "5  f          1                 ##f          6",
        "6  (end)      0",
        "tokens  abc  ##def",
        "ids     2    6",
    ]
    shown = show("trace", path, "abx", "--segmentation", "fewest")
    assert "unknown: the word has no split into tokens\ntokens  [UNK]\n" in shown
    (part,) = json.loads(show("trace", path, "dx", "--segmentation", "fewest", "--unknown", "run", "--json"))["parts"]
    assert part["table"] == [
        {"i": 0, "character": "d", "cost": 2000, "first": ["[UNK]"], "end": 1, "taken": True},
        {"i": 1, "character": "x", "cost": 1000, "first": ["[UNK]"], "end": 2, "taken": True},
        {"i": 2, "character": None, "cost": 0, "first": [], "end": 2, "taken": False},
    ]
    assert (part["tokens"], part["ids"], part["steps"]) == (["[UNK]"], [0], [])
    _, edges, links, _ = parsed(show("draw", path, "--segmentation", "fewest", "--text", "abcde"))
    assert {name for _, _, name in edges} == {"a", "ab", "abc", "abcd", "##d", "##de", "##e"}
    assert not links


def test_the_fewest_tokens_of_many_words(paper: Path, show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vocabulary is looked through once, not again for each word."""
    made = list[int]()

    class Counted(reference.FewestTable):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(len(self.tokens))

    monkeypatch.setattr("beam_wordpiece.show.trace.FewestTable", Counted)
    for unknown in ("word", "error"):
        shown = show("trace", paper, "abcdz ab " * 50 + "x", "--segmentation", "fewest", "--unknown", unknown)
        assert shown.count("word ab ") == 50
        assert made == [4]
        made.clear()


def test_text_that_is_refused(paper: Path, show: Show) -> None:
    """The text is shown up to the word with the character."""
    lines = show("trace", paper, "ab axb ab", "--unknown", "error").splitlines()
    assert [line for line in lines if line.startswith("word")] == [
        "word ab (characters 0 to 2)",
        "word axb (characters 3 to 6)",
    ]
    assert lines[-1] == "refused: the character x begins no token where it stands"
    parts = json.loads(show("trace", paper, "ab axb ab", "--unknown", "error", "--json"))["parts"]
    assert ["refused" in part for part in parts] == [False, True]
    assert (parts[1]["refused"], parts[1]["tokens"]) == ("x", [])
    lines = show("trace", paper, "xa", "--unknown", "error", "--segmentation", "fewest").splitlines()
    assert lines[-1] == "refused: the character x begins no token where it stands"


def test_the_parts_of_a_text(tmp_path: Path, show: Show) -> None:
    path = small.write(tmp_path / "tokenizer.json", small.document())
    shown = show("trace", path, "Unaffable\tcats[MASK] zzz " + "a" * 101)
    headings = [block.splitlines()[0] for block in shown.split("\n\n")]
    assert headings == [
        "word unaffable (characters 0 to 9, in the text Unaffable)",
        "word cats (characters 10 to 14)",
        "added token [MASK] (characters 14 to 20)",
        "word zzz (characters 21 to 24)",
        f"word {'a' * 101} (characters 25 to 126)",
    ]
    assert "found before words are split\ntokens  [MASK]\nids     4\n" in shown
    assert "unknown: before z, r has neither an edge nor a failure link\ntokens  [UNK]\n" in shown
    assert "unknown: it has 101 characters, and the limit is 100\ntokens  [UNK]\n" in shown
    assert (
        show("trace", path, " \0\n") == "no token: the text is empty, or nothing is left of it when it is normalized\n"
    )
    limited = show("trace", path, "cats", "--max-input-chars-per-word", "3")
    assert "unknown: it has 4 characters, and the limit is 3\n" in limited


def test_text_that_is_not_split(paper: Path, show: Show) -> None:
    assert show("trace", paper, "a !", "--pretokenize", "false", "--unknown", "character").splitlines() == [
        "stretch a␣! (characters 0 to 3)",
        "step  i  character  v   goes     to  pops   tokens so far",
        "1     0  a          r   edge     a",
        "2     1  ␣          a   f(v)     r#  a      a",
        "3     1  ␣          r#  unknown  r#  [UNK]  a, [UNK]",
        "4     2  !          r#  unknown  r#  [UNK]  a, [UNK], [UNK]",
        "tokens  a  [UNK]  [UNK]",
        "ids     1  0      0",
    ]


def test_of_many_tokens_the_last_are_shown(paper: Path, show: Show) -> None:
    lines = show("trace", paper, "a" + "b" * 40).splitlines()
    assert max(map(len, lines[2:-2])) < 100
    assert lines[-3].endswith("  …, " + ", ".join(["##b"] * 10))
    assert lines[-2].split() == ["tokens", "a", *["##b"] * 40]


def test_json_for_programs(paper: Path, show: Show) -> None:
    text = "abcdz ab!"
    parsed = json.loads(show("trace", paper, text, "--json"))
    subject = load_subject(str(paper))
    expected = [
        {
            "kind": found.part.kind,
            "string": found.part.string,
            "start": found.part.start,
            "end": found.part.end,
            "steps": [
                {
                    "i": step.i,
                    "character": step.character,
                    "node": {"root": step.node.root, "string": step.node.string},
                    "move": step.move,
                    "to": None if step.to is None else {"root": step.to.root, "string": step.to.string},
                    "pops": [pop.token for pop in step.pops],
                }
                for step in found.steps
            ],
            "tokens": [token for token, _ in found.found],
            "ids": [id for _, id in found.found],
        }
        for found in trace(subject, text)
    ]
    assert parsed == {"text": text, "parts": expected}
    assert [step["move"] for step in parsed["parts"][0]["steps"]] == [
        *["edge"] * 4,
        *["failure"] * 2,
        "edge",
        "failure",
    ]


def test_all_that_a_vocabulary_can_be_in(tmp_path: Path, show: Show) -> None:
    """A vocab.txt, a folder, a tokenizer.json, an automaton: added tokens with ids of their own are no tokens of it."""
    document = small.document()
    document["added_tokens"].append(small.added("catx", len(small.VOCABULARY), single_word=True))
    source = small.write(tmp_path / "tokenizer.json", document)
    bw.Automaton.compile(source).save(tmp_path / "small.bwp")
    assert dict(load_subject(str(tmp_path / "small.bwp")).tokens) == dict(load_subject(str(source)).tokens)
    text = "catxs catx unaffable [MASK]"
    shown = show("trace", source, text)
    assert "tokens  catx\n" in shown
    assert show("trace", tmp_path / "small.bwp", text) == shown == show("trace", tmp_path, text)
    folder = tmp_path / "folder"
    folder.mkdir()
    small.write_vocab(folder / "vocab.txt")
    assert show("draw", folder, "--table") == show("draw", folder / "vocab.txt", "--table")
    assert show("draw", source, "--table") == show("draw", tmp_path / "small.bwp", "--table")


def test_what_is_refused(paper: Path, tmp_path: Path, show: Show) -> None:
    bw.Automaton.compile(paper).save(tmp_path / "paper.bwp")
    automaton = str(tmp_path / "paper.bwp")
    for arguments, message in (
        (("draw", paper, "-o", paper), f"{paper}: the name of a drawing has to end in .dot, .gv, .svg, .png, .pdf."),
        (("draw", paper, "-o", "x.svg", "--table"), "--table goes to standard output"),
        (("trace", automaton, "a", "--lowercase", "false"), "(lowercase cannot be changed)"),
        (
            ("draw", paper, "--keywords"),
            "paper.txt is a vocabulary, and keywords are found by a dictionary",
        ),
        (
            ("trace", automaton, "a", "--unknown", "carry"),
            "paper.bwp is an automaton, which has its options compiled in",
        ),
        (("trace", paper, "a", "--unknown", "carry"), 'unknown has to be "word"'),
        (("trace", "no/such/file", "a"), "no/such/file: No such file or directory"),
        (("draw", paper, "--pretokenize", "false"), 'pretokenize=False does not go with unknown="word"'),
        (("draw", paper, "-o", tmp_path / "none" / "x.dot"), "none/x.dot: No such file or directory"),
    ):
        assert message in show(*arguments, status=2)
    assert paper.read_text() == "\n".join(["[UNK]", *small.PAPER, ""])
    paper.write_bytes(b"a\r\n")
    assert "line 1 ends with a carriage return" in show("trace", paper, "a", status=2)


@pytest.mark.parametrize("command", ["trace", "draw"])
def test_help_teaches_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main([command, "--help"])
    assert exit.value.code == 0
    shown = capsys.readouterr().out
    assert f"beam-wordpiece {command} paper.txt" in shown
    assert "failure link" in shown


def test_the_example_of_the_readme(tmp_path: Path, show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commands run, and what they print is what it says."""
    monkeypatch.chdir(tmp_path)
    section = README.read_text(encoding="utf-8").split("## See it work\n")[1].split("\n## ")[0]
    (commands,) = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    others = [line for line in commands.splitlines() if line.startswith("beam-wordpiece")]
    for line in set(commands.splitlines()) - set(others):
        subprocess.run(["sh", "-c", line], check=True)
    printed, _ = re.findall(r"^```text\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert printed == show(*others[0].split()[1:])
    assert [line.split()[:3] for line in others] == [
        ["beam-wordpiece", command, name]
        for command, name in (
            *(("trace", "paper.txt"), ("draw", "paper.txt"), ("draw", "paper.txt")),
            *(("draw", "tokenizer.json"), ("trace", "paper.txt"), ("trace", "plain.txt")),
        )
    ]
    assert show(*arguments(others[1])).startswith("node   token  f     F\n")
    assert show(*arguments(others[2].replace(".svg", ".dot"))) == "paper.dot: 13 nodes\n"
    small.write(tmp_path / "tokenizer.json", small.document())
    assert show(*arguments(others[3])).startswith("part.dot: ")
    assert "cost of the rest" in show(*arguments(others[4]))
    assert "\ntokens  ab  cde\n" in show(*arguments(others[5]))


def arguments(line: str) -> list[str]:
    """Those of a command, without the comment behind it."""
    return line.partition("  # ")[0].split()[1:]
