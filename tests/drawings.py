"""What a drawing shows, read from Graphviz's language by a strict parser, so that tests need no Graphviz."""

import html
import re
from collections.abc import Iterator

# Labels: of nodes by their names in the file; of edges and of links with what they lead from and to, as labels.
Edges = set[tuple[str, str, str]]
# An identifier, a quoted string, or a sign. A quoted string ends at the first quote that has no backslash before it
# which is not itself behind one.
TOKEN = re.compile(r'\s*(?:([A-Za-z_][A-Za-z_0-9]*|-?[0-9.]+)|"((?:[^"\\\0]|\\.)*)"|(->|[\[\]{},;=]))')
# The attributes that are known, which are all that a drawing has.
ATTRIBUTES = {
    *("rankdir", "labelloc", "label", "shape", "margin", "width", "height"),
    *("peripheries", "style", "color", "fontcolor", "constraint"),
}


class Parser:
    """The statements of a `digraph`: `graph` and `node` with attributes, nodes, and edges between two nodes."""

    def __init__(self, drawing: str) -> None:
        self.tokens = list(_tokens(drawing))
        self.nodes: dict[str, dict[str, str]] = {}
        self.edges: list[tuple[str, str, dict[str, str]]] = []
        self.title = ""
        assert [self._take() for _ in range(3)] == ["digraph", "trie", "{"]
        while self.tokens[0] != "}":
            self._statement()
        assert self.tokens == ["}"]

    def _take(self) -> str:
        return self.tokens.pop(0)

    def _statement(self) -> None:
        name, end = self._take(), None
        assert re.fullmatch(r"graph|node|n\d+", name)
        if self.tokens[0] == "->":
            self._take()
            end = self._take()
        attributes = self._attributes()
        if end is not None:
            # Otherwise Graphviz would make a node that has no label of its own.
            assert name in self.nodes
            assert end in self.nodes
            self.edges.append((name, end, attributes))
        elif name == "graph":
            self.title = attributes["label"]
        elif name != "node":
            assert name not in self.nodes
            self.nodes[name] = attributes

    def _attributes(self) -> dict[str, str]:
        found = dict[str, str]()
        assert self._take() == "["
        while True:
            name, sign, value, after = (self._take() for _ in range(4))
            assert name in ATTRIBUTES
            assert name not in found
            assert sign == "="
            assert after in ",]"
            found[name] = _label(value.removeprefix('"')) if name == "label" else value.removeprefix('"')
            if after == "]":
                assert self._take() == ";"
                return found


def _tokens(drawing: str) -> Iterator[str]:
    """The tokens. A quoted one has a quote before it."""
    place = 0
    while drawing[place:].strip():
        found = TOKEN.match(drawing, place)
        assert found is not None, drawing[place : place + 80]
        name, quoted, sign = found.groups()
        yield name or sign or '"' + quoted
        place = found.end()


def _label(quoted: str) -> str:
    """What a quoted label shows. A backslash stands before a quote or a backslash, and "&" begins nothing but "&amp;":
    others mean line breaks, the name of the node, or other characters. What is quoted is never HTML."""
    assert all(pair in (r"\\", r"\"") for pair in re.findall(r"\\.", quoted, re.DOTALL))
    assert quoted.count("&") == quoted.count("&amp;")
    assert "\n" not in quoted
    return html.unescape(re.sub(r"\\(.)", r"\1", quoted))


def parsed(drawing: str) -> tuple[dict[str, str], Edges, Edges, set[str]]:
    """The labels of the nodes of a drawing, its edges and links (from, label, to), and the labels that are double."""
    parser = Parser(drawing)
    names = {number: attributes["label"] for number, attributes in parser.nodes.items()}
    assert len(set(names.values())) == len(names)
    found: dict[bool, Edges] = {False: set(), True: set()}
    for start, end, attributes in parser.edges:
        found[attributes.get("style") == "dashed"].add((names[start], attributes["label"], names[end]))
    assert sum(map(len, found.values())) == len(parser.edges)
    double = {names[number] for number, attributes in parser.nodes.items() if "peripheries" in attributes}
    return names, found[False], found[True], double
