"""What goes in and what comes out: chunks, and the ids of documents or of chunks. No Beam in here."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from beam_wordpiece.tokenizer import SURROGATE

# What a chunk weighs at least, in bytes: its place in the index takes memory also where it has no text.
LEAST_WEIGHT = 256
MAX_NUMBER = 2**63 - 1
NO_NUMBER = -1

# The number of a chunk, its bytes, and whether a text ends after it.
Piece = tuple[int, bytes, bool]


class Chunk(NamedTuple):
    """A piece of a document, cut anywhere.

    `document`: the document's name; a whole number is taken as its digits, so that 7 and "7" are one document, and
    comes out as a str. `number`: the place of the chunk in it, from 0. `text`: str, or bytes of UTF-8, which may be cut
    inside a character; None is an empty text. `last`: whether the document ends with this chunk; nobody need know where
    TokenizeChunks is told `end="highest"`. Each may be an Arrow scalar.
    """

    document: str | int
    number: int
    text: str | bytes | None
    last: bool = False


class TokenizedDocument(NamedTuple):
    """The ids of a whole document: an Arrow array of int32, or of string where they are those of a Dictionary."""

    document: str
    input_ids: pa.Int32Array | pa.StringArray


class TokenizedChunk(NamedTuple):
    """The ids of a document that were decided with one of its chunks: an Arrow array as that of a document."""

    document: str
    number: int
    input_ids: pa.Int32Array | pa.StringArray


def split_chunk(chunk: Chunk) -> tuple[bytes, Piece]:
    """The name of the document as bytes, and the chunk without it. A number out of range becomes NO_NUMBER.

    Raises TypeError where a field is of another type.
    """
    fields: Any = (value.as_py() if isinstance(value, pa.Scalar) else value for value in chunk)
    document, number, text, last = fields
    document = _name(document)
    try:
        number = operator.index(number)
    except TypeError:
        found = f"{type(number).__name__} ({number!r})"
        raise TypeError(f"The number of a chunk of {document!r} has to be a whole number, not {found}.") from None
    if not isinstance(text, (str, bytes, type(None))):
        raise TypeError(f"Chunk {number} of {document!r} has to be str or bytes, not {type(text).__name__}.")
    if last not in (True, False):
        raise TypeError(f"`last` of chunk {number} of {document!r} has to be True or False, not {last!r}.")
    number = number if 0 <= number <= MAX_NUMBER else NO_NUMBER
    return document.encode("utf-8", "surrogatepass"), (number, _text_bytes(text or b""), bool(last))


def _name(document: Any) -> str:
    if isinstance(document, str):
        return document
    with contextlib.suppress(TypeError):
        if not isinstance(document, bool):
            return str(operator.index(document))
    found = f"{type(document).__name__} ({document!r})"
    raise TypeError(f"The document of a chunk has to be a str or a whole number, not {found}; give str(...) of it.")


def document_name(key: bytes) -> str:
    """The name of a document, from the bytes that `split_chunk` made of it."""
    return key.decode("utf-8", "surrogatepass")


def _text_bytes(text: str | bytes) -> bytes:
    """A text as UTF-8. A lone surrogate becomes a byte that is never valid, which is read as one U+FFFD or refused."""
    if isinstance(text, bytes):
        return text
    try:
        return text.encode()
    except UnicodeEncodeError:
        return b"\xff".join(part.encode() for part in SURROGATE.split(text))


def weight_of(text: bytes) -> int:
    """What a chunk counts for where memory is bounded, in bytes."""
    return max(len(text), LEAST_WEIGHT)


def stretches(numbers: Sequence[int]) -> Iterator[tuple[int, bool]]:
    """Sorted numbers, each with whether the next one is missing: what follows a gap is a text of its own."""
    for place, number in enumerate(numbers, 1):
        yield number, place == len(numbers) or numbers[place] != number + 1
