"""The trie with its links, for drawings and tables: those of matching, and those of keyword search.

Sources: Song et al., "Fast WordPiece Tokenization", EMNLP 2021, section 3, for failure links f and pops F; Aho and
Corasick, "Efficient string matching", 1975, for the links of keyword search.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from beam_wordpiece.reference import LinMaxMatch, Node
from beam_wordpiece.show.matching import pops_of
from beam_wordpiece.show.subject import Place, Subject
from beam_wordpiece.show.trace import steps


class Trie:
    """The trie of an automaton with f and F, whose nodes are known by their places.

    `columns`: what the columns of a table of it are called: the node, its token, its link, and what the link pops.
    """

    columns: Sequence[str] = ("node", "token", "f", "F")

    def __init__(self, subject: Subject, matcher: LinMaxMatch) -> None:
        self.subject = subject
        self.matcher = matcher

    def node(self, place: Place) -> Node | None:
        """The node at a place, None where there is none."""
        u: Node | None = self.matcher.r if place.root == "r" else self.matcher.r_sharp
        for c in place.string:
            u = None if u is None else u.edges.get(c)
        return u

    def link(self, place: Place) -> Place | None:
        """Where the link of a node leads."""
        node = self._link(self._at(place))
        if node is None:
            return None
        return Place(self.subject.suffix_root, place.string[len(place.string) - node.depth :])

    def pops(self, place: Place) -> list[str]:
        """The tokens that the link of a node pops, in the order of the text."""
        pops = pops_of(self.subject, place, self._at(place))
        return [token for token, _ in self.subject.found(pops)]

    def token(self, place: Place) -> str | None:
        """The token that a node spells (chi)."""
        token = self._at(place).chi
        return None if token is None else self.subject.turned(token)

    @property
    def roots(self) -> list[Place]:
        return [Place(root, "") for root in dict.fromkeys(["r", self.subject.suffix_root])]

    def below(self, place: Place) -> Iterator[Place]:
        """The places of a node and of all below it."""
        stack = [place]
        while stack:
            place = stack.pop()
            yield place
            stack += [Place(place.root, place.string + c) for c in self._at(place).edges]

    def visited(self, string: str) -> Iterator[Place]:
        """The places that matching comes to on a string, in the order in which it is read."""
        for step in steps(self.subject, self.matcher, string):
            yield step.node
            if step.to is not None:
                yield step.to

    def _at(self, place: Place) -> Node:
        node = self.node(place)
        if node is None:
            raise KeyError(place)
        return node

    def _link(self, node: Node) -> Node | None:
        return node.f


class PlainTrie(Trie):
    """The trie without links: the fewest tokens are found by trying all tokens at all places."""

    columns = ("node", "token")

    def visited(self, string: str) -> Iterator[Place]:
        for start in range(len(string)):
            root = "r" if start == 0 else self.subject.suffix_root
            end = start
            while end < len(string) and self.node(Place(root, string[start : end + 1])) is not None:
                end += 1
                yield Place(root, string[start:end])

    def _link(self, node: Node) -> Node | None:
        return None


class KeywordTrie(Trie):
    """The trie with the links of Aho and Corasick: to the longest proper suffix of the node that is a node.

    Where a link has tokens, they are the keys that end at the node and are shorter than it.
    """

    columns = ("node", "token", "link", "keys that end there too")

    def __init__(self, subject: Subject, matcher: LinMaxMatch) -> None:
        super().__init__(subject, matcher)
        self._links: dict[Node, Node] = {}
        queue = deque([matcher.r])
        while queue:
            u = queue.popleft()
            for c, v in u.edges.items():
                self._links[v] = self._next(self._links.get(u), c)
                queue.append(v)

    def pops(self, place: Place) -> list[str]:
        keys, node = list[str](), self._links.get(self._at(place))
        while node is not None:
            keys += [] if node.chi is None else [node.chi]
            node = self._links.get(node)
        return keys

    def visited(self, string: str) -> Iterator[Place]:
        u: Node | None = self.matcher.r
        for end, c in enumerate(string, 1):
            u = self._next(u, c)
            yield Place("r", string[end - u.depth : end])

    def _link(self, node: Node) -> Node | None:
        return self._links.get(node)

    def _next(self, u: Node | None, c: str) -> Node:
        """Where the character leads from the node, or from the first along its links that has an edge for it."""
        while u is not None and c not in u.edges:
            u = self._links.get(u)
        return self.matcher.r if u is None else u.edges[c]
