"""Types of the compiled module. Private but for `Encoding`: the public API is what `beam_wordpiece` names."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, final, overload

__all__ = [
    "Automaton",
    "EncodedColumn",
    "Encoder",
    "Encoding",
    "KeywordStream",
    "Keywords",
    "Stream",
    "compile",
    "simd_level",
]

def compile(
    tokens: Sequence[str],
    ids: Sequence[int],
    *,
    profile: str,
    lowercase: bool,
    strip_accents: bool,
    clean_text: bool,
    handle_chinese_chars: bool,
    unk_token: str,
    continuing_subword_prefix: str,
    max_input_chars_per_word: int,
    pretokenize: bool,
    unknown: str,
    added_tokens: Sequence[tuple[str, int, bool, bool, bool, bool, bool]],
    prefix_ids: Sequence[int],
    suffix_ids: Sequence[int],
    metadata: str,
    backward: bool = False,
    segmentation: str = "greedy",
    unknown_cost: int = 1,
    rules: Sequence[tuple[str, str]] = ...,
    layout: str = "failure_links",
    sample: Sequence[object] | None = None,
) -> Automaton:
    """Compile a vocabulary.

    `unk_token`: where it is empty there is none; what is unknown has the first id behind those of all tokens, and the
    metadata is part of the fingerprint. `unknown`: that of `Options`, or "code_point": the id of the unknown token and
    the code point more. `added_tokens`: (content, id, special, single_word, lstrip, rstrip, normalized). `prefix_ids`
    and `suffix_ids`: what the template puts before and after a single text. `metadata`: text that is stored and given
    back untouched. `layout`: failure_links or transducer. `sample`: arrays as those of `Encoder.encode_arrow`, whose
    frequent words are put into the word tables. Raises VocabularyError; InputError (unsupported layout).
    """

@final
class Automaton:
    @staticmethod
    def open(path: str) -> Automaton:
        """Map a file and check all of it. Raises AutomatonError; OSError where the file cannot be opened."""

    @staticmethod
    def from_bytes(data: bytes) -> Automaton:
        """The same from bytes in memory."""

    def to_bytes(self) -> bytes:
        """The content of the automaton file."""

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits: the fingerprint of the meaning."""

    @property
    def metadata(self) -> str: ...
    @property
    def layout(self) -> str:
        """failure_links or transducer."""

    def sections(self) -> list[tuple[str, int]]:
        """Name and size in bytes of each section of the file."""

    def statistics(self) -> dict[str, int]:
        """Counts: tokens, nodes, units, transitions, pops and so on."""

    def vocabulary(self) -> tuple[bytes, bytes]:
        """The text of all tokens, in the order of their ids, and where each begins in it (uint32), with the end."""

    def token(self, id: int) -> str | None:
        """The token (vocabulary or added, the latter normalized where it is looked for in normalized text) of an id."""

    def id(self, token: str) -> int | None:
        """The id of a token (added tokens first, then the vocabulary)."""

@final
class Encoder:
    def __new__(cls, automaton: Automaton, *, add_special_tokens: bool, strict: bool) -> Encoder:
        """`strict`: invalid UTF-8 is a TextError; otherwise each maximal invalid part is read as U+FFFD."""

    def encode(self, text: str) -> Encoding:
        """Encode one text. The GIL is let go of only where it has more than 2048 bytes of UTF-8.

        Raises TypeError where it is not a str, UnicodeEncodeError where it holds a lone surrogate.
        """

    def encode_arrow(self, arrays: Sequence[object]) -> tuple[EncodedColumn, dict[str, int]]:
        """Encode string or large_string (or binary) arrays, one after the other, into one list column.

        `arrays`: objects with `__arrow_c_array__`. The column is a large_list (64-bit offsets) where 32-bit offsets do
        not hold the ids. Raises TextError (row counted over all arrays) and InputError (unsupported layout). The
        counts: documents, nulls, bytes, tokens, unknowns, invalid (documents with invalid UTF-8).
        """

@final
class Encoding(Sequence[int]):
    """The tokens of one text: a sequence of its ids, with the tokens that they stand for and where these are in it.

    The lists are made when they are first asked for, and then stay the same objects. Equal to another Encoding where
    ids and tokens are, and to a list of the ids. For `offsets` and `word_ids` the text is encoded again, character by
    character, so an Encoding keeps its text alive.
    """

    __match_args__: ClassVar[tuple[str, str]] = ("ids", "tokens")
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __new__(
        cls,
        ids: list[int],
        tokens: list[str],
        offsets: list[tuple[int, int]] | None = None,
        word_ids: list[int | None] | None = None,
    ) -> Encoding: ...
    @property
    def ids(self) -> list[int]:
        """The ids, special tokens of the template included."""

    @property
    def tokens(self) -> list[str]:
        """The token of each id; empty where an id is no token's."""

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """Where each token stands: the number of its first character and the end of its last, in characters (code
        points) of the text, as HuggingFace counts them; (0, 0) for special tokens of the template.

        The unknown token spans its word, and an added token the white space that it takes. Tokens of one character,
        such as jamo of a Hangul syllable, share its range. What a Stream is fed is counted from the beginning of the
        document. Raises ValueError where it is not known: a Stream gives it with `offsets=True`.
        """

    @property
    def word_ids(self) -> list[int | None]:
        """The number of the word, or of the added token, that each token is a part of, from 0; None for special tokens
        of the template.

        Raises ValueError as `offsets` does.
        """

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int, /) -> int: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[int]: ...
    def __iter__(self) -> Iterator[int]: ...
    def __contains__(self, id: object, /) -> bool: ...
    def __add__(self, other: list[int] | Encoding, /) -> list[int]: ...
    def __radd__(self, other: list[int], /) -> list[int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def count(self, id: object, /) -> int:
        """How often an id is there."""

    def index(self, id: object, /, *range: int) -> int:
        """The first place of an id, between two places if these are given. Raises ValueError where there is none."""

    def __reduce__(self) -> tuple[type[Encoding], tuple[object, ...]]: ...

@final
class Stream:
    """A document that comes in pieces; see `beam_wordpiece.Stream`."""

    def __new__(cls, encoder: Encoder, *, offsets: bool) -> Stream: ...
    @property
    def offsets(self) -> bool: ...
    @staticmethod
    def from_bytes(encoder: Encoder, data: bytes) -> Stream:
        """Raises AutomatonError; ConfigError where the encoder has another `add_special_tokens` than the other had."""

    def to_bytes(self) -> bytes: ...
    def feed(self, text: str, ends: bool) -> Encoding:
        """Raises TypeError where it is not a str, UnicodeEncodeError where it holds a lone surrogate, TextError."""

    def feed_bytes(self, text: bytes, ends: bool) -> Encoding: ...
    def feed_arrays(self, arrays: Sequence[object]) -> Encoding:
        """Arrays as those of `Encoder.encode_arrow`, of consecutive chunks."""

    def feed_arrow(self, arrays: Sequence[object], ends: bytes) -> tuple[EncodedColumn, dict[str, int]]:
        """The same for one document after the other. `ends`: one byte for each row, not 0 where a document ends."""

@final
class Keywords:
    """Finds the keys of a dictionary in texts. What it needs is made by the first call."""

    def __new__(cls, automaton: Automaton, *, strict: bool) -> Keywords:
        """`strict`: as for an Encoder."""

    def find(self, text: str, overlapping: bool) -> tuple[list[int], list[int], list[int]]:
        """First characters, ends (in characters) and numbers of keys: every occurrence, or leftmost and longest.

        Raises TypeError where it is not a str, UnicodeEncodeError where it holds a lone surrogate, AutomatonError where
        the automaton is no dictionary.
        """

    def find_arrow(self, arrays: Sequence[object], overlapping: bool) -> tuple[EncodedColumn, int]:
        """The same for arrays as those of `Encoder.encode_arrow`: large_list<struct<start, end: int64, id: int32>>.

        Gives also how many texts are not UTF-8. Raises TextError.
        """

    @property
    def link_bytes(self) -> int:
        """Bytes that finding every occurrence holds beside the automaton; 0 before it was asked for."""

@final
class KeywordStream:
    """Keys in a document that comes in pieces; see `beam_wordpiece.KeywordStream`."""

    def __new__(cls, keywords: Keywords, *, overlapping: bool) -> KeywordStream: ...
    @property
    def overlapping(self) -> bool: ...
    @staticmethod
    def from_bytes(keywords: Keywords, data: bytes) -> KeywordStream:
        """Raises AutomatonError."""

    def to_bytes(self) -> bytes: ...
    def feed(self, text: str, ends: bool) -> tuple[list[int], list[int], list[int]]:
        """What `Keywords.find` gives. Raises what `Stream.feed` raises."""

    def feed_bytes(self, text: bytes, ends: bool) -> tuple[list[int], list[int], list[int]]: ...
    def feed_arrays(self, arrays: Sequence[object]) -> tuple[list[int], list[int], list[int]]:
        """Arrays as those of `Encoder.encode_arrow`, of consecutive chunks."""

    def feed_arrow(self, arrays: Sequence[object], ends: bytes) -> EncodedColumn:
        """The same for one document after the other. `ends`: one byte for each row, not 0 where a document ends."""

@final
class EncodedColumn:
    """list<int32> or large_list<int32>, one row per text, as an Arrow array; or occurrences of keys."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

def simd_level() -> str:
    """The level in use: "avx512", "avx2" or "portable"; BEAM_WORDPIECE_SIMD forces one."""
