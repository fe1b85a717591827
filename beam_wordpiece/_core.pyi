"""Types of the compiled module. Private but for `Encoding`: the public API is what `beam_wordpiece` names."""

from collections.abc import Sequence
from typing import ClassVar, final

__all__ = ["Automaton", "EncodedColumn", "Encoder", "Encoding", "compile", "simd_level"]

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
    sample: Sequence[object] | None = None,
) -> Automaton:
    """Compile a vocabulary.

    `added_tokens`: (content, id, special, single_word, lstrip, rstrip, normalized). `prefix_ids` and `suffix_ids`: what
    the template puts before and after a single text. `metadata`: JSON text that is stored and given back untouched.
    `sample`: arrays as those of `Encoder.encode_arrow`, whose frequent words are put into the word tables. Raises
    VocabularyError; InputError (unsupported layout).
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
    def sections(self) -> list[tuple[str, int]]:
        """Name and size in bytes of each section of the file."""

    def statistics(self) -> dict[str, int]:
        """Counts: tokens, nodes, units, pops and so on."""

    def token(self, id: int) -> str | None:
        """The token (vocabulary or added) of an id."""

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
class Encoding:
    """The tokens of one text: `ids` and, of the same length, the `tokens` that they stand for.

    Both are lists that are made when they are first asked for, and then stay the same objects. Equal to another
    Encoding where both lists are.
    """

    __match_args__: ClassVar[tuple[str, str]] = ("ids", "tokens")

    def __new__(cls, ids: list[int], tokens: list[str]) -> Encoding: ...
    @property
    def ids(self) -> list[int]:
        """The ids, special tokens of the template included."""

    @property
    def tokens(self) -> list[str]:
        """The token of each id; empty where an id is no token's."""

    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[type[Encoding], tuple[list[int], list[str]]]: ...

@final
class EncodedColumn:
    """list<int32> or large_list<int32>, one row per text, as an Arrow array."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

def simd_level() -> str:
    """The level in use: "avx512", "avx2" or "portable"; BEAM_WORDPIECE_SIMD forces one."""
