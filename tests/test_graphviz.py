"""Graphviz's language: drawings of tokens of any characters, read by a strict parser, and by Graphviz where it is."""

import html
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import beam_wordpiece as bw
from beam_wordpiece.show.draw import dot, everything, image, plain, trie_of
from beam_wordpiece.show.subject import Place, Subject, shown
from beam_wordpiece.show.trie import Trie
from tests.drawings import Parser, parsed

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz's program dot")

# What means something to Graphviz, in strings, in labels or in HTML, and what few programs show.
ODD = [
    *('"', "\\", '\\"', "\\\\", "\\N", "\\n", "\\l", '"]; n9 [label="x', "<b>", "<>", "&", "&amp;", "&lt", "&#65;"),
    *("a\nb", "\r", "\t", "\0", "\u2028", "\ufeff", " ", "\u00a0", "\U0001f600", "\U0010ffff", "中文", "e\u0301"),
    *("#", "//", "/*", "{|}", "->", "--", "node", "r", "r#", "##", "|", ";", "%n", "1.5", "שלום", "\u0301"),
]
some_text = st.one_of(st.sampled_from(ODD), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3))


def subject_of(tokens: list[str], indicator: str = "##") -> Subject:
    numbers = {token: number for number, token in enumerate(dict.fromkeys(["[UNK]", *tokens]))}
    template = (bw.vocab.Piece("A", None, 0),)
    options = bw.Options(continuing_subword_prefix=indicator)
    return Subject.of_vocabulary(bw.Vocabulary(numbers, (), options, template, template, None, "by hand"))


def of_odd_tokens(indicator: str) -> tuple[Trie, str]:
    """The trie of the odd tokens, and its drawing."""
    subject = subject_of([start + token for token in ODD for start in ("", indicator)], indicator)
    trie = trie_of(subject)
    return trie, dot(trie, plain(trie), 'a "title" \\N & <b>')


@given(tokens=st.lists(some_text, min_size=1), indicator=st.one_of(st.just(""), some_text), title=some_text)
def test_labels_of_any_characters(tokens: list[str], indicator: str, title: str) -> None:
    trie = trie_of(subject_of(tokens, indicator))
    places = everything(trie)
    # A line break and a backslash with an n are shown alike.
    assume(len(set(map(trie.subject.name, places))) == len(places))
    drawing = dot(trie, places, shown(title))
    assert Parser(drawing).title == shown(title)
    names, edges, links, double = parsed(drawing)
    assert set(names.values()) == {trie.subject.name(place) for place in places}
    assert double == {trie.subject.name(place) for place in places if trie.token(place) is not None}
    assert {label for _, label, _ in edges} == {shown(place.string[-1]) for place in places if place.string}
    assert links == {
        (trie.subject.name(place), ", ".join(map(shown, trie.pops(place))), trie.subject.name(link))
        for place in places
        if (link := trie.link(place)) is not None
    }


ids = some_text.filter(lambda id: ":" not in id)


@given(entries=st.lists(st.builds(lambda key, id: f"{key}:{id}", some_text, ids)))
def test_entries_of_any_characters(entries: list[str]) -> None:
    subject = Subject.of_dictionary(bw.Dictionary(entries, unknown="carry"), "by hand")
    for keywords in (False, True):
        trie = trie_of(subject, None, keywords)
        drawing = dot(trie, everything(trie), "title")
        labels = [node["label"] for node in Parser(drawing).nodes.values()]
        assume(len(set(labels)) == len(labels))
        names, _, _, double = parsed(drawing)
        keys = [Place("r", key) for key in subject.tokens]
        assert double == {f"{subject.name(place)}:{shown(str(subject.tokens[place.string]))}" for place in keys}
        assert len(names) == len(everything(trie))


def texts_of(svg: str) -> list[str]:
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


@needs_dot
def test_the_figure_of_the_paper_is_laid_out(paper: Path, tmp_path: Path, show: Callable[..., str]) -> None:
    show("draw", paper, "-o", tmp_path / "paper.svg")
    svg = (tmp_path / "paper.svg").read_text(encoding="utf-8")
    assert svg.count('class="node"') == 13
    assert svg.count('class="edge"') == 11 + 10
    # Tokens have two lines around them.
    nodes = re.findall(r'class="node">(.*?)</g>', svg, re.DOTALL)
    assert sorted(text for node in nodes if node.count("<ellipse") == 2 for text in texts_of(node)) == sorted(
        ["a", "abcdx", "##b", "##c", "##cdy", "##dz"]
    )
    for kind, beginning in ((".png", b"\x89PNG"), (".pdf", b"%PDF")):
        show("draw", paper, "-o", tmp_path / f"paper{kind}")
        assert (tmp_path / f"paper{kind}").read_bytes().startswith(beginning)


@needs_dot
@pytest.mark.parametrize("indicator", ["##", "", '"', "\\", "<", "&"])
def test_graphviz_shows_odd_tokens_as_they_are(indicator: str) -> None:
    """Every label stands in the picture, as the strict parser reads it."""
    _, drawing = of_odd_tokens(indicator)
    parser = Parser(drawing)
    nodes = [node["label"] for node in parser.nodes.values()]
    labels = [parser.title, *nodes, *(edge["label"] for *_, edge in parser.edges)]
    svg = image(drawing, "svg").decode()
    assert sorted(texts_of(svg)) == sorted(labels)
    assert svg.count('class="node"') == len(parser.nodes)
    assert svg.count('class="edge"') == len(parser.edges)


@pytest.mark.parametrize("broken", ['n0 [label="a"]', 'n0 [label="a\\n"];', 'n0 [label="&lt;"];', 'n0 [label="a"b"];'])
def test_the_parser_is_strict(broken: str) -> None:
    Parser('digraph trie {\n  n0 [label="a\\\\n&amp;\\""];\n}\n')
    with pytest.raises(AssertionError):
        Parser("digraph trie {\n" + broken + "\n}\n")
