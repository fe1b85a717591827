"""What is shown: tokens with their ids, and how text is matched with them. Of a vocabulary, or of a dictionary."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from beam_wordpiece.dictionary import Dictionary
from beam_wordpiece.dictionary_ids import UNKNOWN_ID, carried
from beam_wordpiece.errors import KEYWORDS_BY, ConfigError
from beam_wordpiece.show.split import Part, split
from beam_wordpiece.terminal import visible
from beam_wordpiece.vocab_source import load_source
from beam_wordpiece.vocab_types import Options, Vocabulary


class Place(NamedTuple):
    """A node: its root, "r" or "r#" (always "r" with an empty indicator, where both are one), and the characters that
    lead to it, in the order in which they are read: from the end of the text where it is matched backward."""

    root: str
    string: str


class Pop(NamedTuple):
    """A token that is certain: `token`, None for an unknown character, and the `text` that it covers."""

    token: str | None
    text: str


class Found(NamedTuple):
    """A token as it comes out, and its id: that of a dictionary's entry is a text."""

    token: str
    id: int | str


@dataclass(frozen=True)
class Subject:
    """What is shown.

    `tokens`: the tokens that are matched with their ids, or the keys of a dictionary with theirs. `added`: the added
    tokens, found before words are split. `unknown`: what becomes of an unknown character, a value of `Options.unknown`
    or "carry". `split`: gives the parts of a text. `source`: the file, for messages.
    """

    tokens: Mapping[str, int | str]
    added: frozenset[str]
    options: Options
    unknown: str
    split: Callable[[str], list[Part]]
    is_dictionary: bool
    source: str

    @classmethod
    def of_vocabulary(cls, vocabulary: Vocabulary) -> Subject:
        return cls(
            tokens=vocabulary.tokens,
            added=frozenset(token.content for token in vocabulary.added_tokens),
            options=vocabulary.options,
            unknown=vocabulary.options.unknown,
            split=lambda text: split(vocabulary, text),
            is_dictionary=False,
            source=vocabulary.source,
        )

    @classmethod
    def of_dictionary(cls, dictionary: Dictionary, source: str) -> Subject:
        """A dictionary matches all text as it stands."""
        keys: Any = dictionary.keys().to_pylist()
        ids: Any = dictionary.name_values(pa.array(range(len(dictionary)), pa.int32())).to_pylist()
        return cls(
            tokens=dict(zip(keys, ids, strict=True)),
            added=frozenset(),
            options=Options(
                lowercase=False,
                clean_text=False,
                handle_chinese_chars=False,
                unk_token=UNKNOWN_ID,
                continuing_subword_prefix="",
                pretokenize=False,
                unknown="run" if dictionary.unknown == "run" else "character",
                **dictionary.split_options,
            ),
            unknown=dictionary.unknown,
            split=lambda text: [Part("text", text, 0, len(text))] if text else [],
            is_dictionary=True,
            source=source,
        )

    def for_keywords(self) -> Subject:
        """The same keys as they are searched, whatever the split. Raises ConfigError where `Dictionary.find` is not."""
        if not self.is_dictionary:
            raise ConfigError(f"{self.source} is a vocabulary, and {KEYWORDS_BY}; leave out --keywords.")
        if self.options.backward:
            raise ConfigError(
                f"{self.source} is a dictionary that reads from the end, which finds no keywords; make it without "
                "backward, or leave out --keywords."
            )
        return dataclasses.replace(self, options=dataclasses.replace(self.options, segmentation="greedy"))

    @property
    def indicator(self) -> str:
        """What a token begins with that continues a word; it may be empty."""
        return self.options.continuing_subword_prefix

    @property
    def suffix_root(self) -> str:
        """The name of the root of what continues a word."""
        return "r#" if self.indicator else "r"

    @property
    def is_fewest(self) -> bool:
        return self.options.segmentation == "fewest"

    @property
    def unk(self) -> Found:
        token = self.options.unk_token
        return Found(token, token if self.is_dictionary else self.tokens[token])

    def is_matched(self, part: Part) -> bool:
        """Whether a part of a text is matched with the tokens: it is no added token, and not too long."""
        return part.id is None and not self.is_too_long(part)

    def is_too_long(self, part: Part) -> bool:
        """Whether it is a word of more characters than the limit, which holds where whole words can be unknown."""
        return self.unknown == "word" and len(part.string) > self.options.max_input_chars_per_word

    def turned(self, string: str) -> str:
        """A string of the text in the order in which it is read, and the other way round."""
        return string[::-1] if self.options.backward else string

    def name(self, place: Place) -> str:
        """What a node is called: r, r#, the string below r, or with the indicator before it that below r#.

        Where that might be another node (the letter r, a string below r that begins with the indicator itself), it has
        its root behind it.
        """
        if not place.string:
            return place.root
        string = self.turned(place.string) if place.root == "r" else self.indicator + place.string
        written = place.root == "r" and self.indicator != "" and string.startswith(self.indicator)
        return shown(string) + (f" ({place.root})" if written or string in ("r", "r#") else "")

    def found(self, pops: Iterable[Pop], before: Pop | None = None) -> list[Found]:
        """The tokens that come out for pops that follow each other. `before`: the one before them."""
        found = list[Found]()
        for pop in pops:
            if pop.token is not None:
                found.append(Found(pop.token, self.tokens[pop.token]))
            elif not (self.unknown == "run" and before is not None and before.token is None):
                found += self._of_unknown(pop.text)
            before = pop
        return found

    def _of_unknown(self, character: str) -> list[Found]:
        """What stands for an unknown character."""
        if self.unknown == "carry":
            name = carried(ord(character))
            return [Found(name, name)]
        names = [f"<0x{byte:02X}>" for byte in character.encode()]
        if self.unknown == "byte" and all(name in self.tokens for name in names):
            return [Found(name, self.tokens[name]) for name in names]
        return [self.unk]


def shown(text: str) -> str:
    """The text with all its characters to be seen, spaces too."""
    return visible(text).replace(" ", "\N{OPEN BOX}")


def load_subject(path: str, **options: Any) -> Subject:
    """What a file holds. Raises what `load_source` raises."""
    source = load_source(path, **options)
    return Subject.of_dictionary(source, path) if isinstance(source, Dictionary) else Subject.of_vocabulary(source)
