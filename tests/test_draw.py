"""Drawings and tables of the trie: the figure and the table of the paper, and parts of large vocabularies."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import beam_wordpiece as bw
from beam_wordpiece.cli import main
from beam_wordpiece.show import draw as drawings
from beam_wordpiece.show.draw import MOST_NODES, complete, dot, everything, plain, trie_of, visited
from beam_wordpiece.show.subject import Place, Subject, load_subject
from beam_wordpiece.show.trace import trace
from tests import small
from tests.drawings import parsed
from tests.strategies import WordProblem, word_problems
from tests.test_dictionary import problems

Show = Callable[..., str]

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


def test_the_table_of_the_paper(paper: Path, show: Show) -> None:
    assert show("draw", paper, "--table") == TABLE


def test_the_figure_of_the_paper(paper: Path, show: Show) -> None:
    """Solid edges make the trie, dashed ones are the table's links with its pops, and what is double is a token."""
    names, edges, links, double = parsed(show("draw", paper))
    rows = [re.split(r" {2,}", line) for line in TABLE.splitlines()[1:]]
    assert sorted(names.values()) == sorted(row[0] for row in rows)
    strings = ["a", "ab", "abc", "abcd", "abcdx", "##b", "##c", "##cd", "##cdy", "##d", "##dz"]
    above = {"a": "r", "##b": "r#", "##c": "r#", "##d": "r#"}
    assert edges == {(above.get(string, string[:-1]), string[-1], string) for string in strings}
    assert double == set(small.PAPER)
    cells = [(line[:7].strip(), line[14:20].strip(), line[20:].strip()) for line in TABLE.splitlines()[1:]]
    assert links == {(name, pops, link) for name, link, pops in cells if link != "∅"}


@given(problem=word_problems(), backward=st.booleans(), fewest=st.booleans())
def test_a_drawing_has_the_trie_and_its_links(problem: WordProblem, backward: bool, fewest: bool) -> None:
    """Every link of a node that is drawn is drawn, and each node hangs below its root."""
    indicator = "" if backward else problem.suffix_indicator
    options = bw.Options(
        continuing_subword_prefix=indicator,
        unknown="run" if backward else "word",
        backward=backward,
        segmentation="fewest" if fewest and not backward else "greedy",
    )
    tokens = {token: number for number, token in enumerate(dict.fromkeys(["[UNK]", *problem.vocabulary]))}
    template = (bw.vocab.Piece("A", None, 0),)
    subject = Subject.of_vocabulary(bw.Vocabulary(tokens, (), options, template, template, None, "by hand"))
    trie = trie_of(subject)
    nodes = everything(trie)
    assert {trie.token(place) for place in nodes} - {None} == tokens.keys() - {""}
    for part, places in ((trie, nodes), (trie, plain(trie)), visited(subject, problem.word)):
        assert places <= nodes
        assert places == complete(part, places)
        names, edges, links, double = parsed(dot(part, places, "title"))
        assert len(names) == len(places)
        assert len(edges) == len(places) - len(trie.roots)
        assert len(links) == sum(trie.link(place) is not None for place in places)
        assert len(double) == sum(trie.token(place) is not None for place in places)
        assert not (links and subject.is_fewest)


@given(problem=problems(), split=st.sampled_from([{}, {"segmentation": "fewest"}]))
def test_the_links_of_keyword_search(problem: tuple[list[str], list[str]], split: dict[str, Any]) -> None:
    """They lead to the longest proper suffix, and the keys that end at the nodes of a text are those that are found."""
    entries, texts = problem
    dictionary = bw.Dictionary(entries, **split)
    subject = Subject.of_dictionary(dictionary, "by hand").for_keywords()
    nodes = {place.string for place in everything(trie_of(subject))}
    for text in texts:
        trie, places = visited(subject, text, keywords=True)
        for place in places - {Place("r", "")}:
            suffixes = (place.string[start:] for start in range(1, len(place.string) + 1))
            assert trie.link(place) == Place("r", next(suffix for suffix in suffixes if suffix in nodes))
        found = []
        for end, place in enumerate(trie.visited(text), 1):
            keys = [key for key in (trie.token(place), *trie.pops(place)) if key is not None]
            found += [(end - len(key), end, subject.tokens[key]) for key in keys]
        assert found == dictionary.find(text, overlapping=True)


def test_special_tokens_and_written_indicators_are_drawn_when_asked_for(paper: Path, show: Show) -> None:
    rows = [re.split(r" {2,}", line) for line in show("draw", paper, "--table", "--all").splitlines()[1:]]
    below_r = {token[:end] for token in ["[UNK]", *small.PAPER] for end in range(1, len(token) + 1)}
    names = {name + " (r)" if name.startswith("##") else name for name in below_r}
    assert {row[0] for row in rows} == names | {"r", "r#", "##b", "##c", "##cd", "##cdy", "##d", "##dz"}
    assert ["##b (r)", "##b", "r#", "##b"] in rows
    assert "[UNK" not in show("draw", paper)


def test_a_part_of_a_large_vocabulary(tokenizer_json: Path, show: Show) -> None:
    message = show("draw", tokenizer_json, status=2)
    tokens = len(load_subject(str(tokenizer_json)).tokens)
    assert f"{tokenizer_json}: {tokens:,} tokens are too many to be shown, where the limit is 500" in message
    for way in ("(--text TEXT)", "(--prefix STRING)", "(--table)"):
        assert way in message
    subject = load_subject(str(tokenizer_json))
    names, *_ = parsed(show("draw", tokenizer_json, "--text", "unaffable"))
    steps = [step for part in trace(subject, "unaffable") for step in part.steps]
    assert {subject.name(place) for step in steps for place in (step.node, step.to) if place} <= set(names.values())
    assert len(names) < 40
    names, *_ = parsed(show("draw", tokenizer_json, "--prefix", "##ment"))
    expected = {token for token in subject.tokens if token.startswith("##ment")}
    assert {name for name in names.values() if name.startswith("##ment") and name in subject.tokens} == expected
    assert "568 tokens are too many" in show("draw", tokenizer_json, "--prefix", "s", status=2)
    assert "nodes are too many" in show("draw", tokenizer_json, "--prefix", "a", status=2)
    assert "no token begins with 'qqq'" in show("draw", tokenizer_json, "--prefix", "qqq", status=2)
    assert show("draw", tokenizer_json, "--text", "unaffable", "--table").count("\n") < 40


LONG = "the names of the nodes have more than"


def test_a_table_of_names_that_are_too_long(paper: Path, show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all, of those that begin with a string, and of those that a text comes to."""
    nodes = everything(trie_of(load_subject(str(paper))))
    length = sum(len(place.string) for place in nodes)
    for limit, status in ((length, 0), (length - 1, 2)):
        monkeypatch.setattr(drawings, "MOST_LISTED", limit)
        shown = show("draw", paper, "--table", "--all", status=status)
        assert (f"{paper}: {LONG} {limit:,} characters, which is the limit; show what a" in shown) == bool(status)
    # ##d, ##dz; and of the text a, ab, abc.
    for part, names in ((("--prefix", "##d"), 3), (("--text", "abc"), 6 + 2)):
        for limit, status in ((names, 0), (names - 1, 2)):
            monkeypatch.setattr(drawings, "MOST_LISTED", limit)
            assert (LONG in show("draw", paper, *part, "--table", status=status)) == bool(status)


@given(problem=word_problems())
def test_the_names_of_all_nodes_are_measured_before_there_are_any(problem: WordProblem) -> None:
    expected = {token[:end] for token in problem.vocabulary for end in range(1, len(token) + 1)}
    assert drawings.sum_of_depths(problem.vocabulary) == sum(map(len, expected))


@pytest.mark.parametrize("part", [(), ("--keywords",), ("--all",), ("--prefix", "a"), ("--text", "a" * 8_000)], ids=str)
def test_a_long_key_is_refused_at_once(part: tuple[str, ...], tmp_path: Path, show: Show) -> None:
    """Its table would be quadratic in it."""
    bw.Dictionary(["a" * 8_000 + ":1"]).save(tmp_path / "d.bwp")
    start = time.process_time()
    assert f"{LONG} 2,000,000 characters" in show("draw", tmp_path / "d.bwp", "--table", *part, status=2)
    assert time.process_time() - start < 5
    bw.Dictionary(["a" * 1_000 + ":1"]).save(tmp_path / "d.bwp")
    assert show("draw", tmp_path / "d.bwp", "--table").count("\n") == 1_002


def test_a_table_that_is_too_wide(tmp_path: Path, show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long key makes its column wide for all rows, and of a, aa, aaa, ... all shorter ones end at each node."""
    monkeypatch.setattr(drawings, "MOST_PRINTED", 100_000)
    for number, entries in enumerate((["a" * 60, *map(chr, range(0x3400, 0x3800))], ["a" * i for i in range(1, 61)])):
        bw.Dictionary([f"{entry}:1" for entry in entries]).save(tmp_path / "d.bwp")
        message = show("draw", tmp_path / "d.bwp", "--table", *["--keywords"] * number, status=2)
        assert "d.bwp: the table has more than 100,000 characters, in columns as wide as" in message


def test_a_text_that_is_too_long_for_the_tokens(paper: Path, show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beam_wordpiece.show.matching.MOST_COMPARED", 20)
    for command, *flags in (
        ("trace", "abcd"),
        ("trace", "abcd", "--segmentation", "fewest"),
        ("draw", "--text", "abcd"),
    ):
        assert show(command, paper, *flags)
        flags = ["abcdz" if flag == "abcd" else flag for flag in flags]
        message = show(command, paper, *flags, status=2)
        assert f"{paper}: what is asked for has too many characters for tokens of up to 5: the one times" in message


def test_a_drawing_of_too_many_nodes(tmp_path: Path, show: Show) -> None:
    for length, status in ((MOST_NODES - 2, 0), (MOST_NODES - 1, 2)):
        path = small.write_vocab(tmp_path / "vocab.txt", ["[UNK]", "a" * length])
        shown = show("draw", path, status=status)
        assert ("501 nodes are too many" in shown) == bool(status)


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


def test_the_vocabulary_of_the_paper_as_it_stands_there(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small.write_vocab(paper, small.PAPER)
    assert main(["draw", str(paper), "--table"]) == 0
    out, err = capsys.readouterr()
    assert out == TABLE
    assert err.startswith(f"beam-wordpiece: warning: {paper}: the unknown token '[UNK]' is not in the vocabulary")
    assert main(["trace", str(paper), "abcd [CLS]", "--unk-token", "<?>"]) == 0
    assert "tokens  <?>\nids     6\n" in capsys.readouterr().out
