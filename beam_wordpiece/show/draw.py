"""The trie with its links as a Graphviz drawing and as a table, whole or in part: for people who want to see it.

Source: Song et al., "Fast WordPiece Tokenization", EMNLP 2021, section 3: the figure of the trie of
{a, abcdx, ##b, ##c, ##cdy, ##dz} and the table of f and F.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable

from beam_wordpiece.errors import ConfigError
from beam_wordpiece.show.matching import common, matcher
from beam_wordpiece.show.subject import Place, Subject, shown
from beam_wordpiece.show.trie import KeywordTrie, PlainTrie, Trie

# More than this nobody can read, and `dot` takes minutes to lay out.
MOST_NODES = 500
# A node is known by what it spells, so the time that plain Python takes goes by the depths of all nodes together, the
# characters of their names. Those of bert-base-multilingual-cased, 120,000 tokens, have 1,512,232, and its table takes
# 12 s of CPU time and 0.4 GB; a single token that has more is one of 2,000 characters.
MOST_LISTED = 2_000_000
# Columns are as wide as their widest cell. That table has 24 million characters with the spaces in it.
MOST_PRINTED = 200_000_000
LESS = (
    "show what a shorter text comes to (--text TEXT), or the tokens that begin with a longer string (--prefix STRING)"
)
EMPTY = "\N{EMPTY SET}"
LINK = 'style=dashed, color="#b02020", fontcolor="#b02020", constraint=false'


def trie_of(subject: Subject, texts: Iterable[str] | None = None, keywords: bool = False) -> Trie:
    """The trie, with the links of matching or of keyword search; with texts, in the order in which they are read, the
    part that they come to. `keywords`: the subject is one for keywords."""
    kind = KeywordTrie if keywords else PlainTrie if subject.is_fewest else Trie
    return kind(subject, matcher(subject, texts))


def everything(trie: Trie) -> set[Place]:
    """All nodes."""
    return {place for root in trie.roots for place in trie.below(root)}


def plain(trie: Trie) -> set[Place]:
    """All nodes that the paper draws.

    Left out are those of special and other added tokens, which are found before the automaton has a word, and below r
    those of tokens that begin with the indicator: there they stand for words that do so themselves.
    """
    subject = trie.subject
    apart = set[str]() if subject.is_dictionary else {subject.options.unk_token, *subject.added}
    return complete(trie, [_end(subject, token) for token in subject.tokens if token not in apart])


def visited(subject: Subject, text: str, keywords: bool = False) -> tuple[Trie, set[Place]]:
    """The nodes that matching a text, or searching it, comes to, and where their links lead."""
    strings = [subject.turned(part.string) for part in subject.split(text) if subject.is_matched(part)]
    trie = trie_of(subject, strings, keywords)
    return trie, complete(trie, [place for string in strings for place in trie.visited(string)])


def beginning(subject: Subject, string: str, keywords: bool = False, in_table: bool = False) -> tuple[Trie, set[Place]]:
    """The nodes of the tokens that begin with a string, and where their links lead. Of what is matched backward, of
    those that end with it. `in_table`: for a table, not a drawing. Raises ConfigError where there are none, or too
    many."""
    top = _end(subject, string)
    if top.root == "r#":
        marked = [token for token in subject.tokens if token.startswith(subject.indicator)]
        tokens = [token.removeprefix(subject.indicator) for token in marked]
    else:
        # Below r are all, as they are written.
        tokens = list(map(subject.turned, subject.tokens))
    found = [token for token in tokens if token and token.startswith(top.string)]
    if not found:
        where = "ends" if subject.options.backward else "begins"
        raise ConfigError(f"{subject.source}: no token {where} with {string!r}.")
    if not in_table:
        require_few(len(found), "tokens", subject.source)
    require_short(sum_of_depths(found), subject.source)
    trie = trie_of(subject, found, keywords)
    return trie, complete(trie, trie.below(top))


def _end(subject: Subject, token: str) -> Place:
    """The node of a token, or of its beginning: of one that has the indicator, that below r#."""
    if subject.indicator and token.startswith(subject.indicator):
        return Place("r#", token.removeprefix(subject.indicator))
    return Place("r", subject.turned(token))


def complete(trie: Trie, places: Iterable[Place]) -> set[Place]:
    """The places with those above them, the roots, and all to which their failure links lead. Raises ConfigError where
    their names are too long."""
    found, new, length = set[Place](), [*places, *trie.roots], 0
    while new:
        place = new.pop()
        if place in found:
            continue
        found.add(place)
        length += len(place.string)
        require_short(length, trie.subject.source)
        if place.string:
            new.append(Place(place.root, place.string[:-1]))
        link = trie.link(place)
        if link is not None:
            new.append(link)
    return found


def whole(subject: Subject, keywords: bool = False) -> Trie:
    """The trie of all tokens. Raises ConfigError where the names of its nodes are too long."""
    marked = [token for token in subject.tokens if subject.indicator and token.startswith(subject.indicator)]
    below = sum_of_depths(token.removeprefix(subject.indicator) for token in marked)
    require_short(below + sum_of_depths(map(subject.turned, subject.tokens)), subject.source)
    return trie_of(subject, None, keywords)


def sum_of_depths(strings: Iterable[str]) -> int:
    """The characters of the names of all nodes below one root: of each beginning of the strings, once."""
    total, before = 0, ""
    for string in sorted(strings):
        shared = common(before, string)
        total += (len(string) * (len(string) + 1) - shared * (shared + 1)) // 2
        before = string
    return total


def in_order(places: Iterable[Place]) -> list[Place]:
    """Those below r first, each node before those below it."""
    return sorted(places, key=lambda place: (place.root != "r", place.string))


def require_few(count: int, what: str, source: str) -> None:
    """Refuse to draw more nodes or tokens than anybody can read. Raises ConfigError."""
    if count > MOST_NODES:
        raise ConfigError(
            f"{source}: {count:,} {what} are too many to be shown, where the limit is {MOST_NODES:,}; show what a "
            "short text comes to (--text TEXT), or the tokens that begin with a string (--prefix STRING), or print all "
            "nodes (--table)."
        )


def require_short(length: int, source: str) -> None:
    """Refuse to show nodes whose names have more characters together. Raises ConfigError."""
    if length > MOST_LISTED:
        raise ConfigError(
            f"{source}: the names of the nodes have more than {MOST_LISTED:,} characters, which is the limit; {LESS}."
        )


def table_rows(trie: Trie, places: Iterable[Place]) -> list[list[str]]:
    """The paper's table: for each node its name, its token (chi), its failure link f and its failure pops F. A key of a
    dictionary has its id beside it. Raises ConfigError where there would be too much to print."""
    columns, is_dictionary = list(trie.columns), trie.subject.is_dictionary
    rows = [[columns[0], "key", "id", *columns[2:]] if is_dictionary else columns]
    widths = [0] * len(rows[0])
    for place in in_order(places):
        link, token = trie.link(place), trie.token(place)
        row = [trie.subject.name(place), shown(token or "")]
        if is_dictionary:
            row.append("" if token is None else shown(str(trie.subject.tokens[token])))
        if len(columns) > 2:
            row.append(EMPTY if link is None else trie.subject.name(link))
            row.append(", ".join(map(shown, trie.pops(place))))
        rows.append(row)
        widths = [max(width, len(text)) for width, text in zip(widths, row, strict=True)]
        if sum(widths) * len(rows) > MOST_PRINTED:
            raise ConfigError(
                f"{trie.subject.source}: the table has more than {MOST_PRINTED:,} characters, in columns as wide as "
                f"their widest cell, which is the limit; {LESS}."
            )
    return rows


def dot(trie: Trie, places: Iterable[Place], title: str) -> str:
    """The drawing in Graphviz's language. `places`: with each of them the node above it and that of its link.

    Tokens are double; edges are solid and have their character; links are dashed and have their pops. A key of a
    dictionary is written as its entry, with its id.
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
        lines.append(f"  n{number} [label={_quoted(_label(trie, place))}{double}{style}];")
    for place, number in numbers.items():
        if place.string:
            above = numbers[Place(place.root, place.string[:-1])]
            lines.append(f"  n{above} -> n{number} [label={_quoted(shown(place.string[-1]))}];")
    for place, number in numbers.items():
        link = trie.link(place)
        if link is not None:
            label = _quoted(", ".join(map(shown, trie.pops(place))))
            lines.append(f"  n{number} -> n{numbers[link]} [label={label}, {LINK}];")
    return "\n".join([*lines, "}", ""])


def _label(trie: Trie, place: Place) -> str:
    name, token = trie.subject.name(place), trie.token(place)
    return f"{name}:{shown(str(trie.subject.tokens[token]))}" if token and trie.subject.is_dictionary else name


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
