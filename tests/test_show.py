"""The commands that show the automaton: the figure and the tables of the paper, and parts of large vocabularies."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given

import beam_wordpiece as bw
from beam_wordpiece.cli import main
from beam_wordpiece.show.draw import MOST_NODES, Trie, complete, dot, everything, image, in_order, plain, visited
from beam_wordpiece.show.source import load
from beam_wordpiece.show.trace import Tracer
from tests import small
from tests.strategies import WordProblem, word_problems
from tests.test_readme import README

PAPER = ["a", "abcdx", "##b", "##c", "##cdy", "##dz"]
# The paper's table: the string of each node, its token, failure link and failure pops.
TABLE = """\
node   token  f     F
r             ∅
a      a      r#    a
ab            ##b   a
abc           ##c   a, ##b
abcd          ##cd  a, ##b
abcdx  abcdx  r#    abcdx
r#            ∅
##b    ##b    r#    ##b
##c    ##c    r#    ##c
##cd          ##d   ##c
##cdy  ##cdy  r#    ##cdy
##d           ∅
##dz   ##dz   r#    ##dz
"""
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
Show = Callable[..., str]


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    return small.write_vocab(tmp_path / "paper.txt", ["[UNK]", *PAPER])


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Show:
    """A function that runs the command and gives what it prints, on standard error where it fails."""

    def show(*arguments: str | os.PathLike[str], status: int = 0) -> str:
        assert main([os.fspath(argument) for argument in arguments]) == status
        out, err = capsys.readouterr()
        assert (out if status else err) == ""
        return err if status else out

    return show


def test_the_table_of_the_paper(paper: Path, show: Show) -> None:
    assert show("draw", paper, "--table") == TABLE


def test_the_steps_of_the_paper(paper: Path, show: Show) -> None:
    assert show("trace", paper, "abcdz") == STEPS


def test_the_figure_of_the_paper(paper: Path, show: Show) -> None:
    """Solid edges make the trie, dashed ones are the table's links with its pops, and what is double is a token."""
    names, edges, links, double = parsed(show("draw", paper))
    rows = [re.split(r" {2,}", line) for line in TABLE.splitlines()[1:]]
    assert sorted(names.values()) == sorted(row[0] for row in rows)
    strings = ["a", "ab", "abc", "abcd", "abcdx", "##b", "##c", "##cd", "##cdy", "##d", "##dz"]
    above = {"a": "r", "##b": "r#", "##c": "r#", "##d": "r#"}
    assert edges == {(above.get(string, string[:-1]), string[-1], string) for string in strings}
    assert double == set(PAPER)
    cells = [(line[:7].strip(), line[14:20].strip(), line[20:].strip()) for line in TABLE.splitlines()[1:]]
    assert links == {(name, pops, link) for name, link, pops in cells if link != "∅"}


Edges = set[tuple[str, str, str]]


def parsed(drawing: str) -> tuple[dict[str, str], Edges, Edges, set[str]]:
    """The names of the nodes of a drawing, its edges and failure links (from, label, to), and those that are double."""
    found = re.findall(r'^  (n\d+) \[label="([^"]*)"(.*)\];$', drawing, re.MULTILINE)
    names = {number: name for number, name, _ in found}
    assert len(set(names.values())) == len(names)
    lines = re.findall(r'^  (n\d+) -> (n\d+) \[label="([^"]*)"(.*)\];$', drawing, re.MULTILINE)
    assert len(found) + len(lines) + 4 == drawing.count("\n")
    edges = {(names[start], label, names[end]) for start, end, label, style in lines if "dashed" not in style}
    links = {(names[start], label, names[end]) for start, end, label, style in lines if "dashed" in style}
    assert len(edges) + len(links) == len(lines)
    return names, edges, links, {name for _, name, style in found if "peripheries=2" in style}


def test_the_vocabulary_of_the_paper_as_it_stands_there(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small.write_vocab(paper, PAPER)
    assert main(["draw", str(paper), "--table"]) == 0
    out, err = capsys.readouterr()
    assert out == TABLE
    assert err.startswith(f"beam-wordpiece: warning: {paper}: the unknown token '[UNK]' is not in the vocabulary")
    assert main(["trace", str(paper), "abcd [CLS]", "--unk-token", "<?>"]) == 0
    assert "tokens  <?>\nids     6\n" in capsys.readouterr().out


@given(problem=word_problems())
def test_a_drawing_has_the_trie_and_its_links(problem: WordProblem) -> None:
    """Every link of a node that is drawn is drawn, and each node hangs below its root."""
    options = bw.Options(continuing_subword_prefix=problem.suffix_indicator)
    tokens = {token: number for number, token in enumerate(dict.fromkeys(["[UNK]", *problem.vocabulary]))}
    template = (bw.vocab.Piece("A", None, 0),)
    trie = Trie(Tracer(bw.Vocabulary(tokens, (), options, template, template, None, "by hand")))
    nodes = everything(trie)
    assert {trie.token(place) for place in nodes} - {None} == tokens.keys() - {""}
    for places in (nodes, plain(trie), visited(trie, problem.word)):
        assert places <= nodes
        assert places == complete(trie, places)
        names, edges, links, double = parsed(dot(trie, places, "title"))
        assert len(names) == len(places)
        assert len(edges) == len(places) - len(trie.roots)
        assert len(links) == sum(trie.link(place) is not None for place in places)
        assert len(double) == sum(trie.token(place) is not None for place in places)


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
    assert show("trace", path, " \0\n") == "no token: of this text nothing is left when it is normalized\n"
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
    tracer = Tracer(load(str(paper)))
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
                    "pops": list(step.pops),
                }
                for step in found.steps
            ],
            "tokens": list(found.tokens),
            "ids": [tracer.ids[token] for token in found.tokens],
        }
        for found in tracer.trace(text)
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
    assert dict(load(str(tmp_path / "small.bwp")).tokens) == dict(load(str(source)).tokens)
    text = "catxs catx unaffable [MASK]"
    shown = show("trace", source, text)
    assert "tokens  catx\n" in shown
    assert show("trace", tmp_path / "small.bwp", text) == shown == show("trace", tmp_path, text)
    folder = tmp_path / "folder"
    folder.mkdir()
    small.write_vocab(folder / "vocab.txt")
    assert show("draw", folder, "--table") == show("draw", folder / "vocab.txt", "--table")
    assert show("draw", source, "--table") == show("draw", tmp_path / "small.bwp", "--table")


def test_special_tokens_and_written_indicators_are_drawn_when_asked_for(paper: Path, show: Show) -> None:
    rows = [re.split(r" {2,}", line) for line in show("draw", paper, "--table", "--all").splitlines()[1:]]
    below_r = {token[:end] for token in ["[UNK]", *PAPER] for end in range(1, len(token) + 1)}
    names = {name + " (r)" if name.startswith("##") else name for name in below_r}
    assert {row[0] for row in rows} == names | {"r", "r#", "##b", "##c", "##cd", "##cdy", "##d", "##dz"}
    assert ["##b (r)", "##b", "r#", "##b"] in rows
    assert "[UNK" not in show("draw", paper)


def test_a_part_of_a_large_vocabulary(tokenizer_json: Path, show: Show) -> None:
    message = show("draw", tokenizer_json, status=2)
    tokens = len(load(str(tokenizer_json)).tokens)
    assert message.startswith(f"beam-wordpiece: {tokenizer_json}: {tokens:,} tokens are too many for a drawing")
    for way in ("(--text TEXT)", "(--prefix STRING)", "(--table)"):
        assert way in message
    tracer = Tracer(load(str(tokenizer_json)))
    names, *_ = parsed(show("draw", tokenizer_json, "--text", "unaffable"))
    steps = [step for part in tracer.trace("unaffable") for step in part.steps]
    trie = Trie(tracer)
    assert {trie.name(place) for step in steps for place in (step.node, step.to) if place} <= set(names.values())
    assert len(names) < 40
    names, *_ = parsed(show("draw", tokenizer_json, "--prefix", "##ment"))
    expected = {token for token in tracer.ids if token.startswith("##ment")}
    assert {name for name in names.values() if name.startswith("##ment") and name in tracer.ids} == expected
    assert "nodes are too many" in show("draw", tokenizer_json, "--prefix", "s", status=2)
    assert "no token begins with 'qqq'" in show("draw", tokenizer_json, "--prefix", "qqq", status=2)
    assert show("draw", tokenizer_json, "--text", "unaffable", "--table").count("\n") < 40


def test_a_drawing_of_too_many_nodes(tmp_path: Path, show: Show) -> None:
    for length, status in ((MOST_NODES - 2, 0), (MOST_NODES - 1, 2)):
        path = small.write_vocab(tmp_path / "vocab.txt", ["[UNK]", "a" * length])
        shown = show("draw", path, status=status)
        assert ("501 nodes are too many" in shown) == bool(status)


def test_what_is_refused(paper: Path, tmp_path: Path, show: Show) -> None:
    bw.Automaton.compile(paper).save(tmp_path / "paper.bwp")
    automaton = str(tmp_path / "paper.bwp")
    for arguments, message in (
        (("draw", paper, "-o", paper), f"{paper}: the name of a drawing has to end in .dot, .gv, .svg, .png, .pdf."),
        (("draw", paper, "-o", "x.svg", "--table"), "--table goes to standard output"),
        (("trace", automaton, "a", "--lowercase", "false"), "(lowercase cannot be changed)"),
        (("trace", "no/such/file", "a"), "no/such/file: No such file or directory"),
        (("draw", paper, "--pretokenize", "false"), 'pretokenize=False does not go with unknown="word"'),
        (("draw", paper, "-o", tmp_path / "none" / "x.dot"), "none/x.dot: No such file or directory"),
    ):
        assert message in show(*arguments, status=2)
    assert paper.read_text() == "\n".join(["[UNK]", *PAPER, ""])
    paper.write_bytes(b"a\r\n")
    assert "line 1 ends with a carriage return" in show("trace", paper, "a", status=2)


def test_a_file_for_graphviz(paper: Path, tmp_path: Path, show: Show) -> None:
    drawing = tmp_path / "paper.dot"
    assert show("draw", paper, "-o", drawing) == f"{drawing}: 13 nodes\n"
    assert drawing.read_text(encoding="utf-8") == show("draw", paper)


def test_an_image_where_graphviz_is_not(
    paper: Path, tmp_path: Path, show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    message = show("draw", paper, "-o", tmp_path / "paper.svg", status=2)
    assert message.startswith(
        "beam-wordpiece: for SVG the program `dot` is needed, which is not installed here; install "
    )
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\necho no fonts >&2\nexit 3\n")
    program.chmod(0o755)
    assert f"{program} could not lay the drawing out (status 3): no fonts" in show(
        "draw", paper, "-o", tmp_path / "paper.svg", status=2
    )
    assert not (tmp_path / "paper.svg").exists()


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz's program dot")
def test_graphviz_reads_the_language(paper: Path, tmp_path: Path, show: Show) -> None:
    show("draw", paper, "-o", tmp_path / "paper.svg")
    svg = (tmp_path / "paper.svg").read_text(encoding="utf-8")
    assert svg.count('class="node"') == 13
    assert svg.count('class="edge"') == 11 + 10
    show("draw", paper, "-o", tmp_path / "paper.png")
    assert (tmp_path / "paper.png").read_bytes().startswith(b"\x89PNG")
    odd = small.write_vocab(tmp_path / "odd.txt", ["[UNK]", '"', "\\", '\\"N', "<b>", "##]", "中\\n", "&amp;"])
    tracer = Tracer(load(str(odd)))
    nodes = plain(Trie(tracer))
    svg = image(dot(Trie(tracer), nodes, 'a "title" \\'), "svg").decode()
    assert svg.count('class="node"') == len(in_order(nodes))
    assert ">中\\n<" in svg
    assert ">&amp;amp;<" in svg


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
    make, *others = commands.splitlines()
    subprocess.run(["sh", "-c", make], check=True)
    (printed,) = re.findall(r"^```text\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert printed == show(*others[0].split()[1:])
    assert [line.split()[:3] for line in others[1:]] == [
        ["beam-wordpiece", "draw", name] for name in ["paper.txt", "bert.bwp"]
    ]
    assert show(*others[1].split("#")[0].replace(".svg", ".dot").split()[1:]) == "paper.dot: 13 nodes\n"
    bw.Automaton.compile(small.write(tmp_path / "tokenizer.json", small.document())).save("bert.bwp")
    assert show(*others[2].split("#")[0].replace(".svg", ".dot").split()[1:]).startswith("part.dot: ")
