"""What a vocabulary is once it has been read: tokens, added tokens, options, templates and the decoder.

Names are those of HuggingFace `tokenizers`, whose `tokenizer.json` is where most vocabularies come from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from beam_wordpiece.checks import is_text
from beam_wordpiece.errors import ConfigError, VocabularyError
from beam_wordpiece.normal_form import NormalForm, normal_form
from beam_wordpiece.settings import DOUBTFUL_LINES, SEGMENTATIONS, UNKNOWN

# The compiled automaton keeps an id in 28 bits; the other bits of the word are flags.
ID_LIMIT = 1 << 28
# The limit on the length of a word is a 32-bit number in the automaton.
WORD_LIMIT = (1 << 32) - 1
# The key of a rule is found again and again; what stands for it is counted in eight bits.
LONGEST_KEY = 64
LONGEST_RESULT = 255
# What an unknown character counts as is a number of 16 bits there.
COST_LIMIT = (1 << 16) - 1

PROFILES = ("hf",)
PLANNED_PROFILES = ("google", "tf-text")


def _fault(key: Any, result: Any) -> str | None:
    """What is wrong with a rule."""
    if not is_text(key) or not is_text(result):
        return "rules map texts to texts"
    if key == "":
        return "it has no character that the result could stand for"
    if len(key.encode()) > LONGEST_KEY:
        return f"the key has {len(key.encode())} bytes of UTF-8, and {LONGEST_KEY} are the most"
    if len(result) > LONGEST_RESULT:
        return f"the result has {len(result)} characters, and {LONGEST_RESULT} are the most"
    return None


@dataclass(frozen=True)
class Options:
    """How text is normalized and split, with the names and defaults of HF's BertNormalizer and WordPiece.

    `strip_accents=None` follows `lowercase`. `max_input_chars_per_word` counts characters (code points) after
    normalization.

    `pretokenize`: split the text into words. With False all normalized text from one added token to the next is matched
    as it stands, white space included: a stretch. The spaces that HF's normalizer puts around an ideograph
    (`handle_chinese_chars`) are then text too, and no token has two ideographs side by side.

    `unknown`: what becomes of text where no token is found.

    - "word": the whole word is the unknown token, as in BERT, and so is one that is longer than the limit. Not with
      pretokenize=False. With all others each word is a stretch of its own, and no limit of length applies.
    - "character": a character that begins no token where it stands is the unknown token.
    - "run": such characters side by side, in one word or stretch, are one unknown token.
    - "byte": the tokens of the character's bytes stand for it, `<0x00>` to `<0xFF>`: those of its UTF-8 after
      normalization, a Hangul syllable being its jamo where accents are stripped. Where the vocabulary lacks one of
      them, it is the unknown token. (SentencePiece's byte fallback.)
    - "error": the text is refused with a TextError, which names the character.

    `segmentation`: "greedy" takes the longest token, again and again (MaxMatch); "fewest" a split into the fewest
    tokens, and of several the one whose first token is longest, or if that is equal the second, and so on. That takes
    time in proportion to the length of the text times that of the longest token. `unknown_cost`: as so many tokens an
    unknown character then counts, from 1 to 65535, also as a part of a run; of two equal splits the one that has a
    token where the other has an unknown character is taken. With 1000 a character is unknown only where there is no
    other way, or where that saves a thousand tokens. It has no meaning with unknown="word", where a word that has a
    split is never unknown, nor with "error", where no text is refused that has a split.

    `rules`: strings that stand in place of characters or short strings of the text, as {"…": "...", "''": '"'}, before
    anything else normalizes it. Where several keys begin at a place the longest counts, and what stands for it is not
    looked at again; added tokens that are not `normalized` are found before, and no rule reaches into one. Offsets are
    those of the text as it was: all that stands for a key comes from all of the key. A key has 64 bytes of UTF-8 at
    most, what stands for it 255 characters, or none. (As Lucene's MappingCharFilter and SentencePiece's rules.) A key
    with white space does not go with added tokens that take white space (lstrip, rstrip).

    `backward`: match from the end of each word or stretch, the longest suffix again and again (backward MaxMatch). Only
    where no token has a prefix that says it continues a word (continuing_subword_prefix=""), with
    segmentation="greedy", and not with unknown="word". It and "fewest" need the whole of a word or stretch, so there is
    no Stream of them, and one of more than 16 MB after normalization is refused with a TextError.

    Raises ConfigError for a value of the wrong type, for a profile that is not built, and for what cannot be combined.
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
    backward: bool = False
    segmentation: str = "greedy"
    unknown_cost: int = 1000
    rules: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("lowercase", "clean_text", "handle_chinese_chars", "pretokenize", "backward"):
            self._require(name, type(getattr(self, name)) is bool, "true or false")
        self._require("strip_accents", self.strip_accents is None or type(self.strip_accents) is bool, "a bool or None")
        self._require("unk_token", is_text(self.unk_token) and self.unk_token != "", "a text that is not empty")
        self._require("continuing_subword_prefix", is_text(self.continuing_subword_prefix), "a text")
        limit = self.max_input_chars_per_word
        self._require("max_input_chars_per_word", is_id(limit, WORD_LIMIT + 1), f"a number from 0 to {WORD_LIMIT}")
        if self.profile in PLANNED_PROFILES:
            raise ConfigError(f'The profile "{self.profile}" is not built yet; use profile="hf".')
        self._require("profile", self.profile in PROFILES, 'the name of a profile ("hf")')
        self._require("unknown", self.unknown in UNKNOWN, " or ".join(map(_quoted, UNKNOWN)))
        self._require("segmentation", self.segmentation in SEGMENTATIONS, " or ".join(map(_quoted, SEGMENTATIONS)))
        cost = self.unknown_cost
        self._require("unknown_cost", is_id(cost, COST_LIMIT + 1) and cost > 0, f"a number from 1 to {COST_LIMIT}")
        self._require("rules", isinstance(self.rules, Mapping), "a mapping from texts to texts")
        for key, result in self.rules.items():
            if fault := _fault(key, result):
                raise ConfigError(f"The rule {key!r}: {result!r} cannot be used: {fault}.")
        # A copy, so that it stays as it was checked.
        object.__setattr__(self, "rules", dict(self.rules))
        faults = [*self._without_words(), *self._from_the_end()]
        if faults:
            raise ConfigError(" ".join(faults))

    def _without_words(self) -> Iterator[str]:
        """What does not go with pretokenize=False."""
        if not self.pretokenize and self.unknown == "word":
            others = " or ".join(_quoted(name) for name in UNKNOWN if name != "word")
            yield (
                'pretokenize=False does not go with unknown="word", as there are no words: give pretokenize=True, or '
                f"unknown={others} (at the shell --pretokenize true, or --unknown character or another one)."
            )

    def _from_the_end(self) -> Iterator[str]:
        """What does not go with backward=True, all of it at once."""
        faults = (
            (self.unknown == "word", 'unknown="word": give unknown="character" or another one (--unknown character)'),
            (self.segmentation != "greedy", f'segmentation="{self.segmentation}": leave out one of the two'),
            (
                self.continuing_subword_prefix != "",
                f"continuing_subword_prefix={self.continuing_subword_prefix!r}: a token has to be one wherever it "
                'stands; give a vocabulary without such markers, and continuing_subword_prefix="" '
                '(--continuing-subword-prefix "")',
            ),
        )
        found = [fault for holds, fault in faults if holds]
        if self.backward and found:
            yield f"backward=True does not go with {'; nor with '.join(found)}. (At the shell it is --backward true.)"

    def _require(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise ConfigError(f"The option {name} has to be {what}, not {getattr(self, name)!r}.")

    @property
    def needs_whole(self) -> str:
        """The option because of which tokens are known only when the whole word, or stretch of text, is there, as it is
        written; empty where there is none.
        """
        return "backward=True" if self.backward else 'segmentation="fewest"' if self.segmentation == "fewest" else ""

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
                "add it, or name the right one with unk_token (--unk-token at the shell)."
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
        for a vocabulary with another `unknown` than "word".
        """
        if self.options.unknown != "word":
            raise ConfigError(
                'There is a normal form for unknown="word" only: with others a marker before a word would be text, and '
                "might be unknown."
            )
        added = {token.content: token.normalized for token in self.added_tokens}
        return normal_form(self.tokens, marker, self.options.continuing_subword_prefix, self.options.unk_token, added)

    @property
    def _place_of_text(self) -> int:
        return next(i for i, piece in enumerate(self.single) if piece.ids is None)


def _quoted(name: str) -> str:
    return f'"{name}"'


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
        # What goes with these hangs on the file, which is not read yet: `apply` tells all of it at once.
        later = {"backward": True, "pretokenize": False}
        now = {name: value for name, value in options.items() if name not in later or value is not later[name]}
        dataclasses.replace(Options(), **now)
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
