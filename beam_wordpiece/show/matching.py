"""The automaton of `reference.py` for what is shown, whole, or as much of it as some texts come to.

A vocabulary of a model has more nodes than plain Python can make while somebody waits. A text comes only to nodes that
spell a part of it, and so do their failure links and pops, which are about shorter parts. So for a text the trie is
made of what its tokens have in common with the text; f and F of what is made are those of the whole trie.
"""

from __future__ import annotations

import itertools
from bisect import bisect
from collections.abc import Iterable
from typing import Any

from beam_wordpiece.errors import ConfigError
from beam_wordpiece.reference import UNKNOWN_CHARACTER, LinMaxMatch, Node, StretchMatch
from beam_wordpiece.show.subject import Place, Pop, Subject

# Characters in the suffixes of the texts, each as long as the longest token.
MOST_COMPARED = 200_000_000


class Substrings:
    """All substrings of some texts, of `longest` characters at most: their suffixes, sorted."""

    def __init__(self, texts: Iterable[str], longest: int) -> None:
        self._suffixes = sorted({text[start : start + longest] for text in texts for start in range(len(text))})
        self._first = {suffix[0] for suffix in self._suffixes}

    def common(self, string: str) -> int:
        """How many characters the longest beginning of a string has that is one of them."""
        if string[:1] not in self._first:
            return 0
        place = bisect(self._suffixes, string)
        beside = self._suffixes[max(place - 1, 0) : place + 1]
        return max(common(string, suffix) for suffix in beside)


def common(one: str, other: str) -> int:
    """How many characters two strings begin with that are the same."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


class _Part:
    """What makes of an automaton its part for some texts: of each token the beginning that is in the texts."""

    def __init__(self, substrings: Substrings, *arguments: Any) -> None:
        self._substrings = substrings
        super().__init__(*arguments)

    def _insert(self, root: Node, path: str, token: str) -> None:
        end = self._substrings.common(path)
        if end and end == len(path):
            super()._insert(root, path, token)  # type: ignore[misc]
            return
        u = root
        for c in path[:end]:
            u = u.edges.setdefault(c, Node(u.depth + 1))


class _PartOfWords(_Part, LinMaxMatch):
    """The part of an automaton for words."""


class _PartOfStretches(_Part, StretchMatch):
    """The part of an automaton for stretches."""


def matcher(subject: Subject, texts: Iterable[str] | None = None) -> LinMaxMatch:
    """The automaton, or its part for texts, which are in the order in which they are read."""
    tokens = [subject.turned(token) for token in subject.tokens]
    limit = subject.options.max_input_chars_per_word
    if texts is None:
        if subject.unknown == "word":
            return LinMaxMatch(tokens, subject.indicator, limit)
        return StretchMatch(tokens, subject.indicator)
    substrings = _substrings(subject, texts)
    if subject.unknown == "word":
        return _PartOfWords(substrings, tokens, subject.indicator, limit)
    return _PartOfStretches(substrings, tokens, subject.indicator)


def pops_of(subject: Subject, place: Place, node: Node) -> tuple[Pop, ...]:
    """The failure pops of a node with the text that each covers, in the order of the text."""
    found, start = list[Pop](), 0
    for token in node.F:
        # All but what stands first below r continue a word.
        marked = len(subject.indicator) if start or place.root == "r#" else 0
        end = start + (1 if token == UNKNOWN_CHARACTER else len(token) - marked)
        text = subject.turned(place.string[start:end])
        found.append(Pop(None if token == UNKNOWN_CHARACTER else subject.turned(token), text))
        start = end
    return tuple(found[::-1] if subject.options.backward else found)


def tokens_in(subject: Subject, texts: Iterable[str]) -> list[str]:
    """The tokens that are somewhere in the texts, as they are written or without the indicator."""
    substrings = _substrings(subject, texts)
    return [
        token
        for token in subject.tokens
        if any(substrings.common(path) == len(path) for path in (token, token.removeprefix(subject.indicator)))
    ]


def _substrings(subject: Subject, texts: Iterable[str]) -> Substrings:
    """Raises ConfigError where they would fill the memory."""
    distinct, longest = set(texts), max(map(len, subject.tokens), default=1)
    # Of the suffixes all have as many characters as the longest token has, but the last ones.
    if sum(len(text) * min(len(text), longest) for text in distinct) > MOST_COMPARED:
        raise ConfigError(
            f"{subject.source}: what is asked for has too many characters for tokens of up to {longest:,}: the one "
            f"times the other may be {MOST_COMPARED:,}; show less of it."
        )
    return Substrings(distinct, longest)
