"""The steps of the matching loop, one by one, on a text: for people who want to see how it works.

What is traced is the automaton of `reference.py`, in plain Python, on the words that the kernel finds (`split.py`). So
what comes out are the tokens of `Tokenizer.encode`.

Source: Song et al., "Fast WordPiece Tokenization", EMNLP 2021, section 3: Algorithm 1, and the table of its steps on
"abcdz".
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from beam_wordpiece.errors import ConfigError
from beam_wordpiece.reference import UNKNOWN_CHARACTER, LinMaxMatch, Node, StretchMatch
from beam_wordpiece.show.split import Part, split
from beam_wordpiece.vocab_types import Options, Vocabulary

# The options whose meaning a trace has. `unknown` is another, for some of its values.
KNOWN = frozenset(
    {
        *("lowercase", "strip_accents", "clean_text", "handle_chinese_chars", "profile", "pretokenize"),
        *("unk_token", "continuing_subword_prefix", "max_input_chars_per_word"),
    }
)


class Place(NamedTuple):
    """A node: its root, "r" or "r#" (always "r" with an empty indicator, where both are one), and what it spells."""

    root: str
    string: str


@dataclass(frozen=True)
class Step:
    """One turn of the loop, at the character with the index `i` of the word.

    `character`: the next one, None at the end of the word. `move`: "edge" (delta(u, c) is there, and c is read),
    "failure" (it is not: on to f(u), popping F(u)), "unknown" (only in stretches: c begins no token where it stands,
    and is read as an unknown one), "stuck" (there is no failure link: the word is unknown). `to`: the node after it,
    None where it is stuck. `pops`: the tokens that are certain with this step.
    """

    i: int
    character: str | None
    node: Place
    move: str
    to: Place | None
    pops: tuple[str, ...]


@dataclass(frozen=True)
class Traced:
    """A part of a text with its steps and its tokens.

    An added token has no steps: it is found before words are split. Nor has a word of more characters than the limit,
    which is unknown.
    """

    part: Part
    steps: tuple[Step, ...]
    tokens: tuple[str, ...]


class Tracer:
    """Traces texts through the automaton of a vocabulary.

    `matcher`: its trie, failure links and pops. `ids`: the id of each token, added tokens included. Raises ConfigError
    where the options ask for another way to match than that of the paper.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        options = vocabulary.options
        _require_known(options, vocabulary.source)
        self.vocabulary = vocabulary
        self.ids = {**vocabulary.tokens, **{added.content: added.id for added in vocabulary.added_tokens}}
        self.matcher = (
            LinMaxMatch(vocabulary.tokens, options.continuing_subword_prefix, options.max_input_chars_per_word)
            if options.unknown == "word"
            else StretchMatch(vocabulary.tokens, options.continuing_subword_prefix)
        )

    def trace(self, text: str) -> list[Traced]:
        """The parts of a text in order. All their tokens are those of `Tokenizer.encode`, without the special tokens of
        the template."""
        return [self._trace(part) for part in split(self.vocabulary, text)]

    def _trace(self, part: Part) -> Traced:
        unknown = self.vocabulary.options.unk_token
        if part.kind == "added token":
            return Traced(part, (), (part.string,))
        if self.is_too_long(part):
            return Traced(part, (), (unknown,))
        found = tuple(steps(self.matcher, part.string, unknown))
        if found[-1].move == "stuck":
            return Traced(part, found, (unknown,))
        return Traced(part, found, tuple(itertools.chain.from_iterable(step.pops for step in found)))

    def is_too_long(self, part: Part) -> bool:
        """Whether it is a word of more characters than the limit, which holds where whole words can be unknown."""
        limited = self.vocabulary.options.unknown == "word"
        return limited and len(part.string) > self.matcher.max_input_chars_per_word


def _require_known(options: Options, source: str) -> None:
    other = {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(options)
        if field.name not in KNOWN and getattr(options, field.name) != field.default
    }
    if other.get("unknown") == "character":
        del other["unknown"]
    if other:
        asked = ", ".join(f"{name}={value!r}" for name, value in other.items())
        raise ConfigError(
            f"{source}: {asked} cannot be shown; what is shown is matching from the left, longest token first, with "
            'unknown="word" or unknown="character".'
        )


def steps(matcher: LinMaxMatch, string: str, unknown: str = "[UNK]") -> Iterator[Step]:
    """The steps of Algorithm 1 on a word, or on a stretch where `matcher` is a StretchMatch.

    At the end it goes on along failure links as before a character that has no edge, until it is at a root. `unknown`:
    what is popped for an unknown character.
    """
    suffix_root = "r" if matcher.r is matcher.r_sharp else "r#"
    u, root = matcher.r, "r"

    def place(node: Node, root: str, end: int) -> Place:
        return Place(root, string[end - node.depth : end])

    for i, c in enumerate([*string, None]):
        while (v := None if c is None else matcher.delta(u, c)) is None and u.f is not None:
            pops = tuple(unknown if token == UNKNOWN_CHARACTER else token for token in u.F)
            yield Step(i, c, place(u, root, i), "failure", place(u.f, suffix_root, i), pops)
            u, root = u.f, suffix_root
        if v is not None:
            yield Step(i, c, place(u, root, i), "edge", place(v, root, i + 1), ())
            u = v
        elif c is not None and isinstance(matcher, StretchMatch):
            yield Step(i, c, place(u, root, i), "unknown", Place(suffix_root, ""), (unknown,))
            u, root = matcher.r_sharp, suffix_root
        elif c is not None or u not in (matcher.r, matcher.r_sharp):
            yield Step(i, c, place(u, root, i), "stuck", None, ())
            return
