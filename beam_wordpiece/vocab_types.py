"""What a vocabulary is once it has been read: tokens, added tokens, options, templates and the decoder.

Names are those of HuggingFace `tokenizers`, whose `tokenizer.json` is where most vocabularies come from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from beam_wordpiece.checks import is_text
from beam_wordpiece.errors import ConfigError, VocabularyError
from beam_wordpiece.normal_form import NormalForm, normal_form
from beam_wordpiece.settings import DOUBTFUL_LINES, UNKNOWN

# The compiled automaton keeps an id in 28 bits; the other bits of the word are flags.
ID_LIMIT = 1 << 28
# The limit on the length of a word is a 32-bit number in the automaton.
WORD_LIMIT = (1 << 32) - 1

PROFILES = ("hf",)
PLANNED_PROFILES = ("google", "tf-text")


@dataclass(frozen=True)
class Options:
    """How text is normalized and split, with the names and defaults of HF's BertNormalizer and WordPiece.

    `strip_accents=None` follows `lowercase`. `max_input_chars_per_word` counts characters (code points) after
    normalization.

    `pretokenize`: split the text into words. With False all normalized text from one added token to the next is matched
    as it stands, white space included, and no limit of length applies. The spaces that HF's normalizer puts around an
    ideograph (`handle_chinese_chars`) are then text too, and no token has two ideographs side by side. `unknown`: what
    is the unknown token where no token is found: the "word" (with pretokenize=True), or the "character" that begins no
    token where it stands (with pretokenize=False). There are no other pairs.

    Raises ConfigError for a value of the wrong type, for a profile that is not built, and for another pair.
    """

    lowercase: bool = True
    strip_accents: bool | None = None
    clean_text: bool = True
    handle_chinese_chars: bool = True
    unk_token: str = "[UNK]"
    continuing_subword_prefix: str = "##"
    max_input_chars_per_word: int = 100
    profile: str = "hf"
    pretokenize: bool = True
    unknown: str = "word"

    def __post_init__(self) -> None:
        for name in ("lowercase", "clean_text", "handle_chinese_chars", "pretokenize"):
            self._require(name, type(getattr(self, name)) is bool, "true or false")
        self._require("strip_accents", self.strip_accents is None or type(self.strip_accents) is bool, "a bool or None")
        self._require("unk_token", is_text(self.unk_token) and self.unk_token != "", "a text that is not empty")
        self._require("continuing_subword_prefix", is_text(self.continuing_subword_prefix), "a text")
        limit = self.max_input_chars_per_word
        self._require("max_input_chars_per_word", is_id(limit, WORD_LIMIT + 1), f"a number from 0 to {WORD_LIMIT}")
        if self.profile in PLANNED_PROFILES:
            raise ConfigError(f'The profile "{self.profile}" is not built yet; use profile="hf".')
        self._require("profile", self.profile in PROFILES, 'the name of a profile ("hf")')
        self._require("unknown", self.unknown in UNKNOWN, " or ".join(f'"{name}"' for name in UNKNOWN))
        if self.pretokenize != (self.unknown == "word"):
            raise ConfigError(
                f"pretokenize={self.pretokenize} does not go with unknown={self.unknown!r}: give pretokenize=True with "
                'unknown="word" (as BERT has it), or pretokenize=False with unknown="character".'
            )

    def _require(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise ConfigError(f"The option {name} has to be {what}, not {getattr(self, name)!r}.")

    @property
    def strips_accents(self) -> bool:
        """`strip_accents` with None resolved: what is done."""
        return self.lowercase if self.strip_accents is None else self.strip_accents


@dataclass(frozen=True)
class AddedToken:
    """A token that is found in the text before words are split, with the five flags of HF's AddedToken."""

    content: str
    id: int
    special: bool = False
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True


@dataclass(frozen=True)
class Piece:
    """One piece of a template: the sequence "A" or "B" (`ids` is None), or a special token and its ids."""

    name: str
    ids: tuple[int, ...] | None
    type_id: int


@dataclass(frozen=True)
class Decoder:
    """HF's WordPiece decoder: the prefix that it takes off, and whether spaces before punctuation are cleaned up."""

    prefix: str = "##"
    cleanup: bool = True


@dataclass(frozen=True)
class Vocabulary:
    """A vocabulary and all that says how to tokenize with it.

    `single` and `pair` are the templates for one text and for two; `decoder` is None where tokens are joined by
    spaces. `source` is the file that it was read from, for messages and for people; it does not change any id.
    Raises VocabularyError where the parts do not fit together.
    """

    tokens: Mapping[str, int]
    added_tokens: tuple[AddedToken, ...]
    options: Options
    single: tuple[Piece, ...]
    pair: tuple[Piece, ...]
    decoder: Decoder | None
    source: str

    def __post_init__(self) -> None:
        self._check_tokens()
        self._check_texts()
        if self.options.unk_token not in self.tokens:
            raise VocabularyError(
                f"{self.source}: the unknown token {self.options.unk_token!r} is not in the vocabulary; "
                "add it, or name the right one with unk_token=."
            )
        sequences = [piece.name for piece in self.single if piece.ids is None]
        if sequences != ["A"]:
            raise VocabularyError(
                f'{self.source}: the template of a single text has to hold the sequence "A" exactly once, '
                f"and it holds {sequences}."
            )

    def _check_tokens(self) -> None:
        owners: dict[int, str] = {}
        for token, number in self.tokens.items():
            if not is_text(token):
                raise VocabularyError(f"{self.source}: the token {token!r} holds half a surrogate pair; remove it.")
            if not is_id(number):
                raise VocabularyError(
                    f"{self.source}: the token {token!r} has the id {number!r}; an id is a whole number from 0 to "
                    f"{ID_LIMIT - 1}."
                )
            if number in owners:
                raise VocabularyError(
                    f"{self.source}: the tokens {owners[number]!r} and {token!r} have the same id {number}; "
                    "give each token an id of its own."
                )
            owners[number] = token

    def _check_texts(self) -> None:
        """All that is kept beside the tokens and options, which are checked, has to be text too."""
        texts = {f"the added token {added.content!r}": added.content for added in self.added_tokens}
        texts |= {f"the template's {piece.name!r}": piece.name for piece in (*self.single, *self.pair)}
        if self.decoder is not None:
            texts[f"the decoder's prefix {self.decoder.prefix!r}"] = self.decoder.prefix
        for name, text in texts.items():
            if not is_text(text):
                raise VocabularyError(f"{self.source}: {name} is no text, or holds half a surrogate pair; correct it.")

    @property
    def size(self) -> int:
        """Number of different tokens, added tokens included."""
        return len(self.tokens) + sum(added.content not in self.tokens for added in self.added_tokens)

    @property
    def prefix_ids(self) -> tuple[int, ...]:
        """The ids that the template puts before a single text."""
        return _ids(self.single[: self._place_of_text])

    @property
    def suffix_ids(self) -> tuple[int, ...]:
        """The ids that the template puts after a single text."""
        return _ids(self.single[self._place_of_text + 1 :])

    def to_normal_form(self, marker: str = " ") -> NormalForm:
        """The tokens with a marker before those that begin a word, in place of one before those that continue it.

        `walk` and `##ing` become ` walk` and `ing`. Ids stay, and so do all other parts of the vocabulary; `marker` is
        any text. `save_vocabulary` writes the result, `NormalForm.original_tokens` leads back. Raises VocabularyError
        where ids could change, with the tokens that collide, and ConfigError for a marker that is no text or empty, and
        for a vocabulary that does not match words (pretokenize=False).
        """
        if self.options.unknown != "word":
            raise ConfigError(
                'There is a normal form for unknown="word" only: with others a marker before a word would be text, which '
                "may be unknown."
            )
        added = {token.content: token.normalized for token in self.added_tokens}
        return normal_form(self.tokens, marker, self.options.continuing_subword_prefix, self.options.unk_token, added)

    @property
    def _place_of_text(self) -> int:
        return next(i for i, piece in enumerate(self.single) if piece.ids is None)


def _ids(pieces: Iterable[Piece]) -> tuple[int, ...]:
    return tuple(number for piece in pieces for number in piece.ids or ())


def is_id(value: object, limit: int = ID_LIMIT) -> bool:
    """Whether a value is a whole number in [0, limit). True and False are not numbers here."""
    return type(value) is int and 0 <= value < limit


def bert_templates(first: Piece, last: Piece) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """BERT's templates: `first A last` for one text, `first A last B last` for two, the second text of type 1."""
    single = (first, Piece("A", None, 0), last)
    return single, (*single, Piece("B", None, 1), dataclasses.replace(last, type_id=1))


def bare_templates() -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """The templates of a tokenizer that adds no special tokens."""
    single = (Piece("A", None, 0),)
    return single, (*single, Piece("B", None, 1))


@dataclass(frozen=True)
class Overrides:
    """The options that a caller gives by keyword: they win over what files say.

    `left_out` holds "truncation" and "padding" where the caller said to leave out what a tokenizer.json asks for.
    `doubtful_lines`, one of `DOUBTFUL_LINES`: what is done about a vocab.txt that probably means something else.
    """

    options: Mapping[str, Any]
    left_out: frozenset[str]
    doubtful_lines: str

    @classmethod
    def of(cls, keywords: Mapping[str, object]) -> Overrides:
        """Sort the keywords. Raises ConfigError for an unknown one and for one with a wrong value."""
        names = [field.name for field in dataclasses.fields(Options)]
        known = [*names, *LEAVE_OUT, "doubtful_lines"]
        for name, value in keywords.items():
            if name not in known:
                raise ConfigError(f"Unknown option {name!r}; the options are {', '.join(known)}.")
            if name in LEAVE_OUT and value is not False:
                raise ConfigError(f"The option {name} can only be False (leave it out), not {value!r}.")
        doubtful_lines = keywords.get("doubtful_lines", "error")
        if not isinstance(doubtful_lines, str) or doubtful_lines not in DOUBTFUL_LINES:
            raise ConfigError(f'The option doubtful_lines has to be "error" or "warn", not {doubtful_lines!r}.')
        options: dict[str, Any] = {name: value for name, value in keywords.items() if name in names}
        dataclasses.replace(Options(), **options)
        return cls(options, frozenset(keywords.keys() & set(LEAVE_OUT)), doubtful_lines)

    def apply(self, options: Options) -> Options:
        """The options of a file with those of the caller over them."""
        return dataclasses.replace(options, **self.options)

    def decoder(self, decoder: Decoder) -> Decoder:
        """A decoder takes off the prefix that the matcher puts on, so one given by keyword holds for both."""
        return dataclasses.replace(decoder, prefix=self.options.get("continuing_subword_prefix", decoder.prefix))


LEAVE_OUT = ("truncation", "padding")


def add_tokens(
    tokens: Mapping[str, int], entries: Iterable[tuple[AddedToken, int | None]], source: str
) -> tuple[AddedToken, ...]:
    """Give each added token the id that HF gives it, in order, and refuse a file that states another one.

    HF does not read the id of an added token: it takes the vocabulary's id for the same content, and otherwise counts
    on from the number of tokens. `entries`: a token (its own id is not looked at) and the stated id, None where nothing
    states one. An entry that repeats an earlier one in everything is left out. Raises VocabularyError.
    """
    added: dict[str, AddedToken] = {}
    taken = set(tokens.values())
    following = len(tokens)
    for entry, stated in entries:
        content = entry.content
        if content == "" or not is_text(content):
            raise VocabularyError(f"{source}: the added token {content!r} (id {stated}) has no text that can be found.")
        number = added[content].id if content in added else tokens.get(content)
        if number is None:
            number, following = following, following + 1
            if number in taken:
                raise VocabularyError(
                    f"{source}: HF would give the added token {content!r} the id {number}, which is another token's; "
                    "the vocabulary has holes in its ids, so add this token to the vocabulary with an id of its own."
                )
        if stated not in (None, number):
            raise VocabularyError(
                f"{source}: the added token {content!r} states the id {stated}, and HF gives it the id {number} "
                "(the vocabulary's, or the next free one); write that id, or add the token to the vocabulary."
            )
        token = dataclasses.replace(entry, id=number)
        if added.setdefault(content, token) != token:
            raise VocabularyError(f"{source}: the added token {content!r} stands twice with different flags; keep one.")
    return tuple(added.values())
