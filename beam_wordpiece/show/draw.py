"""The trie with its failure links and pops, as a Graphviz drawing and as a table: for people who want to see it.

Source: Song et al., "Fast WordPiece Tokenization", EMNLP 2021, section 3: the figure of the trie of
{a, abcdx, ##b, ##c, ##cdy, ##dz} and the table of f and F.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from beam_wordpiece.errors import ConfigError
from beam_wordpiece.reference import UNKNOWN_CHARACTER, Node
from beam_wordpiece.show.trace import Place, Tracer
from beam_wordpiece.terminal import visible

# More than this nobody can read, and `dot` takes minutes to lay out.
MOST_NODES = 500
EMPTY = "\N{EMPTY SET}"


@dataclass(frozen=True)
class Trie:
    """The trie of a vocabulary, whose nodes are known by their places."""

    tracer: Tracer

    def node(self, place: Place) -> Node | None:
        """The node at a place, None where there is none."""
        u: Node | None = self.tracer.matcher.r if place.root == "r" else self.tracer.matcher.r_sharp
        for c in place.string:
            u = None if u is None else u.edges.get(c)
        return u

    def link(self, place: Place) -> Place | None:
        """Where the failure link of a node leads."""
        node = self._at(place)
        if node.f is None:
            return None
        return Place(self.suffix_root, place.string[len(place.string) - node.f.depth :])

    def pops(self, place: Place) -> list[str]:
        """The failure pops of a node; the unknown token stands for an unknown character."""
        unknown = self.tracer.vocabulary.options.unk_token
        return [unknown if token == UNKNOWN_CHARACTER else token for token in self._at(place).F]

    def token(self, place: Place) -> str | None:
        """The token that a node spells (chi)."""
        return self._at(place).chi

    def name(self, place: Place) -> str:
        """What a node is called: r, r#, the string below r, or with the indicator before it that below r#.

        Where that might be another node (the letter r, a string below r that begins with the indicator itself), it has
        its root behind it.
        """
        if not place.string:
            return place.root
        string = place.string if place.root == "r" else self.indicator + place.string
        written = place.root == "r" and self.indicator != "" and string.startswith(self.indicator)
        return shown(string) + (f" ({place.root})" if written or string in ("r", "r#") else "")

    @property
    def indicator(self) -> str:
        """What a token begins with that continues a word; it may be empty."""
        return self.tracer.vocabulary.options.continuing_subword_prefix

    @property
    def suffix_root(self) -> str:
        """The name of the root of what continues a word."""
        return "r#" if self.indicator else "r"

    @property
    def roots(self) -> list[Place]:
        return [Place(root, "") for root in dict.fromkeys(["r", self.suffix_root])]

    def below(self, place: Place) -> Iterator[Place]:
        """The places of a node and of all below it."""
        stack = [place]
        while stack:
            place = stack.pop()
            yield place
            stack += [Place(place.root, place.string + c) for c in self._at(place).edges]

    def _at(self, place: Place) -> Node:
        node = self.node(place)
        if node is None:
            raise KeyError(place)
        return node


def everything(trie: Trie) -> set[Place]:
    """All nodes."""
    return {place for root in trie.roots for place in trie.below(root)}


def plain(trie: Trie) -> set[Place]:
    """All nodes that the paper draws.

    Left out are those of special and other added tokens, which are found before the automaton has a word, and below r
    those of tokens that begin with the indicator: there they stand for words that do so themselves.
    """
    vocabulary, indicator = trie.tracer.vocabulary, trie.indicator
    apart = {vocabulary.options.unk_token, *(added.content for added in vocabulary.added_tokens)}
    ends = [
        Place("r#", token.removeprefix(indicator)) if indicator and token.startswith(indicator) else Place("r", token)
        for token in vocabulary.tokens
        if token not in apart
    ]
    return complete(trie, ends)


def visited(trie: Trie, text: str) -> set[Place]:
    """The nodes that the trace of a text comes to, and where their failure links lead."""
    found = [step for traced in trie.tracer.trace(text) for step in traced.steps]
    places = [place for step in found for place in (step.node, step.to) if place is not None]
    return complete(trie, places)


def beginning(trie: Trie, string: str) -> set[Place]:
    """The nodes of the tokens that begin with a string, and where their failure links lead. Raises ConfigError where
    there are none."""
    indicator = trie.indicator
    continues = indicator != "" and string.startswith(indicator)
    top = Place("r#", string.removeprefix(indicator)) if continues else Place("r", string)
    if trie.node(top) is None:
        raise ConfigError(f"{trie.tracer.vocabulary.source}: no token begins with {string!r}.")
    return complete(trie, trie.below(top))


def complete(trie: Trie, places: Iterable[Place]) -> set[Place]:
    """The places with those above them, the roots, and all to which their failure links lead."""
    found, new = set[Place](), [*places, *trie.roots]
    while new:
        place = new.pop()
        if place in found:
            continue
        found.add(place)
        if place.string:
            new.append(Place(place.root, place.string[:-1]))
        link = trie.link(place)
        if link is not None:
            new.append(link)
    return found


def in_order(places: Iterable[Place]) -> list[Place]:
    """Those below r first, each node before those below it."""
    return sorted(places, key=lambda place: (place.root != "r", place.string))


def require_few(count: int, what: str, source: str) -> None:
    """Refuse to draw more nodes, or tokens, than anybody can read. Raises ConfigError."""
    if count > MOST_NODES:
        raise ConfigError(
            f"{source}: {count:,} {what} are too many for a drawing, which has {MOST_NODES} nodes at most; draw what a "
            "short text comes to (--text TEXT), or the tokens that begin with a string (--prefix STRING), or print all "
            "nodes (--table)."
        )


def table_rows(trie: Trie, places: Iterable[Place]) -> list[list[str]]:
    """The paper's table: for each node its name, its token (chi), its failure link f and its failure pops F."""
    rows = [["node", "token", "f", "F"]]
    for place in in_order(places):
        link = trie.link(place)
        pops = ", ".join(map(shown, trie.pops(place)))
        rows.append(
            [trie.name(place), shown(trie.token(place) or ""), EMPTY if link is None else trie.name(link), pops]
        )
    return rows


def dot(trie: Trie, places: Iterable[Place], title: str) -> str:
    """The drawing in Graphviz's language. `places`: with each of them the node above it and that of its link.

    Tokens are double; edges are solid and have their character; failure links are dashed and have their pops.
    """
    ordered = in_order(places)
    numbers = {place: number for number, place in enumerate(ordered)}
    lines = [
        "digraph trie {",
        f"  graph [rankdir=LR, labelloc=t, label={_quoted(title)}];",
        '  node [shape=ellipse, margin="0.05,0.05", width=0.5, height=0.5];',
    ]
    for place, number in numbers.items():
        style = "" if place.string else ", style=bold"
        double = "" if trie.token(place) is None else ", peripheries=2"
        lines.append(f"  n{number} [label={_quoted(trie.name(place))}{double}{style}];")
    for place, number in numbers.items():
        if place.string:
            above = numbers[Place(place.root, place.string[:-1])]
            lines.append(f"  n{above} -> n{number} [label={_quoted(shown(place.string[-1]))}];")
    for place, number in numbers.items():
        link = trie.link(place)
        if link is not None:
            label = _quoted(", ".join(map(shown, trie.pops(place))))
            lines.append(
                f"  n{number} -> n{numbers[link]} "
                f'[label={label}, style=dashed, color="#b02020", fontcolor="#b02020", constraint=false];'
            )
    return "\n".join([*lines, "}", ""])


def shown(text: str) -> str:
    """The text with all its characters to be seen, spaces too."""
    return visible(text).replace(" ", "\N{OPEN BOX}")


def _quoted(text: str) -> str:
    """A string of Graphviz's language that shows the text as it is."""
    for character, escape in (("&", "&amp;"), ("\\", "\\\\"), ('"', '\\"')):
        text = text.replace(character, escape)
    return f'"{text}"'


def image(drawing: str, kind: str) -> bytes:
    """The drawing laid out by Graphviz's program `dot`: "svg", "png" or "pdf". Raises ConfigError where it is not there
    or fails."""
    program = shutil.which("dot")
    if program is None:
        raise ConfigError(
            f"for {kind.upper()} the program `dot` is needed, which is not installed here; install Graphviz "
            "(https://graphviz.org/download), or write a file that ends in .dot and lay it out where Graphviz is."
        )
    result = subprocess.run([program, f"-T{kind}"], input=drawing.encode(), capture_output=True)
    if result.returncode != 0:
        said = result.stderr.decode(errors="replace").strip()
        raise ConfigError(f"{program} could not lay the drawing out (status {result.returncode}): {said}")
    return result.stdout
