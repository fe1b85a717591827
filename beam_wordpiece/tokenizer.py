"""Text and Arrow arrays -> token ids, and ids -> text. No Beam in here."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from beam_wordpiece import _core
from beam_wordpiece.arrow_text import Texts, import_texts, spread, total
from beam_wordpiece.automaton import Automaton
from beam_wordpiece.errors import NOT_UTF8, ConfigError, InputError, TextError
from beam_wordpiece.settings import ERRORS

# What HF's WordPiece decoder replaces in every token when it cleans up, in this order.
CLEANUP = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)
REPLACE = 'errors="replace" to read each bad part as U+FFFD'
SURROGATE = re.compile("[\ud800-\udfff]")

Encoding = _core.Encoding
Sequence.register(Encoding)


@dataclass(frozen=True)
class Counts:
    """What was encoded. Counts of parts add up with `+`, and `Counts()` is nothing.

    `documents`: rows, null ones included. `nulls`: null rows. `bytes`: length of the text. `tokens`: ids given, special
    tokens of the template included. `unknowns`: how many of them are the unknown token. `invalid`: documents that are
    not valid UTF-8.
    """

    documents: int = 0
    nulls: int = 0
    bytes: int = 0
    tokens: int = 0
    unknowns: int = 0
    invalid: int = 0

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts(*(mine + theirs for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)))


class TextEncoder:
    """Text -> ids: what a `Tokenizer` and a `Dictionary` share, and all that whoever takes either of them relies on.

    The kernel gives numbers. Those of a Tokenizer are its ids, those of a Dictionary stand for them.
    """

    id_type: pa.DataType = pa.int32()
    """The Arrow type of an id."""

    def __init__(self, core: _core.Automaton, add_special_tokens: bool, errors: str) -> None:
        if errors not in ERRORS:
            raise ConfigError(f'errors has to be "replace" or "error", not {errors!r}.')
        self._errors = errors
        self._encoder = _core.Encoder(core, add_special_tokens=add_special_tokens, strict=errors == "error")
        self._fingerprint = core.fingerprint

    @property
    def errors(self) -> str:
        return self._errors

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits; what tokenizes alike has the same ones."""
        return self._fingerprint

    def encode(self, text: str) -> Encoding:
        """Tokenize one text.

        The GIL is let go of only for a text of more than 2048 bytes of UTF-8: for a line of text that would take a good
        part of the time of the call. The lists of the Encoding are made when they are asked for; for `offsets` and
        `word_ids` the text is encoded again, which takes some twenty times as long.

        Raises TypeError where it is not a str, and with errors="error" a TextError (row 0) where it holds a lone
        surrogate, which UTF-8 cannot say.
        """
        try:
            return self._encoder.encode(text)
        except (UnicodeEncodeError, TypeError) as error:
            return self._encoder.encode(self._repaired(text, error))

    def _repaired(self, text: str, error: UnicodeEncodeError | TypeError) -> str:
        """A text that was refused with this error, with U+FFFD for lone surrogates. Raises what `encode` raises."""
        if isinstance(error, UnicodeEncodeError):
            if self._errors == "error":
                raise TextError(
                    f"The text has a lone surrogate at character {error.start}; repair it, or give {REPLACE}.", 0
                ) from error
            return SURROGATE.sub("\ufffd", text)
        # Asked only now: what is asked of every text takes time.
        if isinstance(text, str):
            raise error
        raise TypeError(f"The text has to be a str, not {type(text).__name__}.") from None

    def encode_arrow(self, array: Any) -> pa.RecordBatch:
        """Tokenize an Arrow array of text in one call, without the GIL.

        `array`: a pa.Array, a pa.ChunkedArray, or any object with `__arrow_c_array__` or `__arrow_c_stream__`, of type
        string, large_string, string_view, binary, large_binary, binary_view, null, or a dictionary of these (of which
        each distinct text is tokenized once). Gives one column, `input_ids`: list<int32>, or large_list<int32> where
        the ids of the array are 2**31 or more; one row for each text, null for a null text.

        Raises InputError where the array is not text or malformed; TextError, which names the row, where a text is not
        UTF-8 and errors="error".
        """
        return self.encode_arrow_counted(array)[0]

    def encode_arrow_counted(self, array: Any) -> tuple[pa.RecordBatch, Counts]:
        """The same as `encode_arrow`, with what was counted on the way."""
        column, counts = self._numbers(array)
        return pa.RecordBatch.from_arrays([self.name(column)], names=["input_ids"]), counts

    def name(self, column: Any) -> Any:
        """The ids of numbers: of a list column, null where that is."""
        return column

    def name_values(self, numbers: Any) -> Any:
        """The same of numbers alone, an array of int32 without nulls."""
        return numbers

    def name_encoding(self, encoding: Encoding, offsets: bool) -> Encoding:
        """The same of an Encoding. `offsets`: it has them."""
        return encoding

    @property
    def refuses_unknown(self) -> bool:
        """Whether a text with an unknown character is refused."""
        return False

    @property
    def needs_whole(self) -> str:
        """See `Options.needs_whole`."""
        raise NotImplementedError

    def is_unknown(self, numbers: Any) -> Any:
        """Which of the numbers, an array of int32, stand for what is unknown: boolean."""
        raise NotImplementedError

    def _numbers(self, array: Any) -> tuple[pa.Array[Any], Counts]:
        texts = import_texts(array)
        try:
            column, counts = self._encode(texts.arrays)
        except TextError as error:
            raise in_row(texts, error) from error
        if texts.rows is not None:
            column, counts = self._spread(column, counts, texts, texts.rows)
        return column, counts

    def _encode(self, arrays: list[pa.Array[Any]]) -> tuple[pa.Array[Any], Counts]:
        encoded: Any
        encoded, counts = self._encoder.encode_arrow(arrays)
        column: pa.Array[Any] = pa.array(encoded)
        return column, Counts(**counts)

    def _spread(
        self, column: pa.Array[Any], counts: Counts, texts: Texts, rows: pa.Array[Any]
    ) -> tuple[pa.Array[Any], Counts]:
        """The column and the counts of all rows, from those of the distinct texts."""
        distinct: Any = texts.arrays[0]
        column = spread(column, rows)
        ids: Any = pc.list_flatten(column)
        return column, Counts(
            documents=len(rows),
            nulls=column.null_count,
            bytes=total(pc.binary_length(distinct).take(rows)),
            tokens=total(pc.list_value_length(column)),
            unknowns=total(self.is_unknown(ids)),
            invalid=total(_invalid(distinct).take(rows)) if counts.invalid else 0,
        )


class Tokenizer(TextEncoder):
    """Tokenizes with an automaton. It cannot be changed; safe to share between threads, and after fork.

    `add_special_tokens`: put the template's special tokens, such as [CLS] and [SEP], around each text. `errors`: what
    to do with text that is not valid UTF-8: "replace" reads each invalid part as U+FFFD, "error" raises TextError.

    Where HF has `encode_batch`, this has `encode_arrow`: many texts in one call, as an Arrow array (`pa.array(texts)`).
    """

    def __init__(self, automaton: Automaton, add_special_tokens: bool = True, errors: str = "replace") -> None:
        if not isinstance(automaton, Automaton):
            raise TypeError(
                f"A Tokenizer is made of an Automaton, not of {type(automaton).__name__}; Automaton.compile makes one "
                "of a vocabulary, Automaton.open opens a compiled one."
            )
        super().__init__(automaton._core, bool(add_special_tokens), errors)
        self._automaton = automaton
        self._add_special_tokens = bool(add_special_tokens)
        self._special = frozenset(token.content for token in automaton.added_tokens if token.special)

    @property
    def automaton(self) -> Automaton:
        return self._automaton

    @property
    def add_special_tokens(self) -> bool:
        return self._add_special_tokens

    @property
    def refuses_unknown(self) -> bool:
        return self._automaton.options.unknown == "error"

    @property
    def needs_whole(self) -> str:
        return self._automaton.options.needs_whole

    def is_unknown(self, numbers: Any) -> Any:
        unknown: Any = self._automaton.id(self._automaton.options.unk_token)
        return pc.equal(numbers, unknown)

    def decode(self, ids: Iterable[int] | pa.Scalar[Any], skip_special_tokens: bool = True) -> str:
        """The text of ids, as HF's WordPiece decoder writes it; ids that are no token's are left out.

        `ids`: numbers of any integer type, or an Arrow array or list scalar of them. Raises TypeError where one is not
        a whole number, InputError where it is negative.
        """
        numbers: Any = ids
        if isinstance(ids, (pa.Array, pa.ChunkedArray)):
            numbers = ids.to_pylist()
        elif isinstance(ids, pa.Scalar):
            numbers = ids.as_py()
        tokens = []
        for number in map(operator.index, numbers):
            if number < 0:
                raise InputError(f"{number} is not the id of a token: ids are not negative.")
            token = self._automaton.token(number)
            if token is not None and not (skip_special_tokens and token in self._special):
                tokens.append(token)
        return self._join(tokens)

    def _join(self, tokens: list[str]) -> str:
        decoder = self._automaton.decoder
        if decoder is None:
            return " ".join(tokens)
        parts = []
        for place, token in enumerate(tokens):
            if place > 0:
                token = token.removeprefix(decoder.prefix) if token.startswith(decoder.prefix) else " " + token
            if decoder.cleanup:
                for artefact, clean in CLEANUP:
                    token = token.replace(artefact, clean)
            parts.append(token)
        return "".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self._automaton, self._add_special_tokens, self._errors)

    def __repr__(self) -> str:
        return f"Tokenizer({self._automaton!r}, {self._add_special_tokens}, {self._errors!r})"


def in_row(texts: Texts, error: TextError) -> TextError:
    """The error of the text that has the error's number in the arrays. It names the first row that has the text."""
    number = error.row
    row = number if texts.rows is None else pc.index(texts.rows, number).as_py()
    array: Any = pa.chunked_array(texts.arrays).slice(number, 1).chunk(0)
    (data,) = array.cast(pa.large_binary()).to_pylist()
    if error.fault != NOT_UTF8:
        return TextError(f"The text in row {row} {error.fault}", row, error.fault)
    return TextError(
        f"The text in row {row} is not UTF-8 at byte {_invalid_at(data)}; repair it, or give {REPLACE}.", row
    )


def is_large(column: Any) -> bool:
    """Whether a list column has 64-bit offsets, as the kernel gives one where there are 2**31 ids or more."""
    return pa.types.is_large_list(column.type)


def _invalid_at(data: bytes | None) -> int | None:
    """The place of the first byte at which a text is not valid UTF-8; None where there is none."""
    try:
        str(data or b"", "utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None


def _invalid(texts: pa.Array[Any]) -> pa.Array[Any]:
    """For each text 1 where it is not valid UTF-8, otherwise 0."""
    found = (_invalid_at(data) for data in texts.cast(pa.large_binary()).to_pylist())
    return pa.array([place is not None for place in found], pa.bool_()).cast(pa.int64())
