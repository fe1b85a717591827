"""What is matched of a text: its normalized words, and the added tokens between them."""

from __future__ import annotations

import dataclasses
import itertools
import unicodedata
from dataclasses import dataclass

from beam_wordpiece.automaton import Automaton
from beam_wordpiece.tokenizer import SURROGATE, Tokenizer
from beam_wordpiece.vocab_types import Vocabulary, bare_templates

# The greatest limit on the length of a word that an automaton can have, in characters.
NO_LIMIT = 1 << 24


@dataclass(frozen=True)
class Part:
    """A word, a stretch of text that is not split into words, a text of a dictionary, or an added token.

    `kind`: "word", "stretch", "text" or "added token". `string` is what is matched: the normalized text, or the added
    token as `Automaton.token` calls it, whose id is `id`. `start` and `end` say where it is in the text, in characters
    (code points).
    """

    kind: str
    string: str
    start: int
    end: int
    id: int | None = None


def split(vocabulary: Vocabulary, text: str) -> list[Part]:
    """The parts of a text, in order, as the options and added tokens of the vocabulary say.

    The kernel finds them: a vocabulary is compiled that has the same options and added tokens, and whose other tokens
    are the single characters that the normalized text can have, each of which may stand anywhere.
    """
    written = set(SURROGATE.sub("\ufffd", text)).union(*vocabulary.options.rules.values())
    characters = sorted(set().union(" ", *map(_may_become, written)))
    # A character that the normalized text has not.
    unknown = next(c for c in map(chr, itertools.count(ord("?"))) if c not in characters)
    names = {name: number for number, name in enumerate([*characters, unknown])}
    added = tuple(
        dataclasses.replace(token, id=number) for number, token in enumerate(vocabulary.added_tokens, len(names))
    )
    options = dataclasses.replace(
        vocabulary.options,
        unk_token=unknown,
        continuing_subword_prefix="",
        max_input_chars_per_word=NO_LIMIT,
        unknown="word" if vocabulary.options.pretokenize else "character",
        backward=False,
        segmentation="greedy",
    )
    probe = Vocabulary(names, added, options, *bare_templates(), None, vocabulary.source)
    encoding = Tokenizer(Automaton.compile(probe), add_special_tokens=False).encode(text)
    found = zip(encoding.word_ids, encoding.ids, encoding.tokens, encoding.offsets, strict=True)
    parts = []
    for _, group in itertools.groupby(found, lambda token: token[0]):
        _, ids, tokens, offsets = zip(*group, strict=True)
        start, end = min(start for start, _ in offsets), max(end for _, end in offsets)
        if ids[0] >= len(names):
            parts.append(Part("added token", tokens[0], start, end, vocabulary.added_tokens[ids[0] - len(names)].id))
        else:
            parts.append(Part("word" if options.pretokenize else "stretch", "".join(tokens), start, end))
    return parts


def _may_become(character: str) -> set[str]:
    """Characters, among them all that normalization can make of this one, whatever the options."""
    found, new = set[str](), {character}
    while new:
        found |= new
        new = {y for x in new for y in unicodedata.normalize("NFD", x) + x.lower()} - found
    if unicodedata.category(character) == "Cn":
        # The profile knows capital letters that this Python may not know. Their small ones follow soon after them, or
        # have been there before, in Latin Extended-B and the IPA Extensions.
        near = map(chr, [*range(0x180, 0x2B0), *range(ord(character), min(ord(character) + 65, 0x110000))])
        found |= {c for c in near if not SURROGATE.match(c)}
    return found
