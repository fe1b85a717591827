"""Byte-pair encoding of one word by ranked merges: the other way to use a vocabulary, in plain Python.

A word begins as its characters. Of all pairs of neighbours that the merges list, the one listed first is merged, of
equal pairs the leftmost, until no pair is listed. Source: Sennrich, Haddow, Birch, "Neural Machine Translation of Rare
Words with Subword Units", ACL 2016, section 3.2. Names and results are those of HF's `tokenizers.models.BPE`.

Symbols are a linked list, and candidate pairs a heap. A merge takes one symbol away and adds at most two pairs, so a
word of n characters takes fewer than 3n pairs in and out of the heap: O(n log n).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from beam_wordpiece.errors import ConfigError, VocabularyError


class Token(NamedTuple):
    """A token of a word: its id, its text in the vocabulary, and the half-open range of the word's characters."""

    id: int
    value: str
    offsets: tuple[int, int]


class _Pair(NamedTuple):
    """An entry of the heap: the rank of a pair, the place of its left symbol, and the token that it becomes."""

    rank: int
    place: int
    merged: str


class _Symbol:
    """A link of the list: a token, the word's characters from `start` to `end`, and its place before any merge.

    `token` is None when the symbol was merged into the one before it.
    """

    __slots__ = ("end", "next", "place", "previous", "start", "token")

    def __init__(self, token: str, place: int, start: int) -> None:
        self.token: str | None = token
        self.place = place
        self.start, self.end = start, start + 1
        self.previous: _Symbol | None = None
        self.next: _Symbol | None = None

    def absorb(self, right: _Symbol, merged: str) -> None:
        """Become the token `merged` of this symbol and its neighbour on the right, which leaves the list."""
        self.token, self.end, self.next = merged, right.end, right.next
        right.token = None
        if right.next is not None:
            right.next.previous = self


class BytePairEncoding:
    """Byte-pair encoding with HF's names and defaults; dropout, byte fallback and `ignore_merges` are not here.

    `vocab`: the tokens and their ids. `merges`: pairs of tokens, the first to be merged first; of a pair that stands
    twice the later place counts. `continuing_subword_prefix` begins every token that does not begin a word,
    `end_of_word_suffix` ends every token that ends one; both are part of the tokens in `merges`, and the prefix of the
    second token is left out where two are merged. `unk_token` stands for a character that is not in `vocab`, with
    `fuse_unk` for a run of them; without it such characters are left out.

    Raises VocabularyError for a merge of or into what is not in `vocab`, ConfigError for an unknown token that is not.
    """

    def __init__(
        self,
        vocab: Mapping[str, int],
        merges: Iterable[tuple[str, str]],
        *,
        unk_token: str | None = None,
        continuing_subword_prefix: str = "",
        end_of_word_suffix: str = "",
        fuse_unk: bool = False,
    ) -> None:
        if unk_token is not None and unk_token not in vocab:
            raise ConfigError(f"The unknown token {unk_token!r} is not in the vocabulary; add it, or give another.")
        self.vocab = dict(vocab)
        self.unk_token = unk_token
        self.continuing_subword_prefix = continuing_subword_prefix
        self.end_of_word_suffix = end_of_word_suffix
        self.fuse_unk = fuse_unk
        # A pair of tokens to its rank and the token that it becomes.
        self._merges = {(a, b): (rank, self._merged(rank, a, b)) for rank, (a, b) in enumerate(merges)}

    def tokenize(self, word: str) -> list[Token]:
        """The tokens of a word, none for an empty one. `word` is matched as it stands: nothing is split before."""
        symbols = self._symbols(word)
        for left, right in itertools.pairwise(symbols):
            left.next, right.previous = right, left
        self._merge_all(symbols)
        return [
            Token(self.vocab[symbol.token], symbol.token, (symbol.start, symbol.end))
            for symbol in symbols
            if symbol.token is not None
        ]

    def _merged(self, rank: int, left: str, right: str) -> str:
        """The token that a pair becomes."""
        prefix = self.continuing_subword_prefix
        if not right.startswith(prefix):
            raise VocabularyError(
                f"merge {rank}, {left!r} and {right!r}: the second token does not begin with {prefix!r}, as a token "
                "behind another has to; correct the merge, or give the right continuing_subword_prefix."
            )
        merged = left + right.removeprefix(prefix)
        for token in (left, right, merged):
            if token not in self.vocab:
                raise VocabularyError(
                    f"merge {rank}, {left!r} and {right!r}: the token {token!r} is not in the vocabulary; add it, or "
                    "remove the merge."
                )
        return merged

    def _symbols(self, word: str) -> list[_Symbol]:
        """What a word begins as: a symbol for each character, unknown ones as `unk_token` says."""
        symbols: list[_Symbol] = []
        run = False
        for i, c in enumerate(word):
            token = (self.continuing_subword_prefix if i else "") + c
            token += self.end_of_word_suffix if i == len(word) - 1 else ""
            known = token in self.vocab
            if known:
                symbols.append(_Symbol(token, len(symbols), i))
            elif self.unk_token is not None and run and self.fuse_unk:
                symbols[-1].end = i + 1
            elif self.unk_token is not None:
                symbols.append(_Symbol(self.unk_token, len(symbols), i))
            run = not known
        return symbols

    def _merge_all(self, symbols: list[_Symbol]) -> None:
        """Merge pairs of neighbours, the lowest rank first and then the leftmost, until there is none to merge."""
        heap = [pair for symbol in symbols if (pair := self._candidate(symbol)) is not None]
        heapify(heap)
        while heap:
            pair = heappop(heap)
            left = symbols[pair.place]
            # One of the two may have been merged with another neighbour since, or both with each other.
            if left.next is None or self._candidate(left) != pair:
                continue
            left.absorb(left.next, pair.merged)
            for changed in (left.previous, left):
                if changed is not None and (found := self._candidate(changed)) is not None:
                    heappush(heap, found)

    def _candidate(self, left: _Symbol) -> _Pair | None:
        """The entry of the heap for a symbol and its neighbour on the right, if they can be merged."""
        right = left.next
        if left.token is None or right is None or right.token is None:
            return None
        found = self._merges.get((left.token, right.token))
        return found and _Pair(found[0], left.place, found[1])
