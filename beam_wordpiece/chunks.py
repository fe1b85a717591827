"""Chunks of a document, from anywhere and in any order -> the document, or what is wrong with it. No Beam in here."""

from __future__ import annotations

import codecs
import hashlib
import operator
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import pyarrow as pa

from beam_wordpiece.chunk_faults import LEAST_WEIGHT, MB, Faults, after_the_end, gaps_between, misnumbered, too_large
from beam_wordpiece.errors import ConfigError, TextError
from beam_wordpiece.stream import Stream
from beam_wordpiece.tokenizer import SURROGATE, Counts

# Bytes of text of a document that are held in memory; more goes into a temporary file.
SPOOL_BYTES = 8 * MB
# What chunks weigh that go through the kernel in one call.
BATCH_WEIGHT = MB
MAX_NUMBER = 2**63 - 1
NO_NUMBER = -1

# The number of a chunk, its bytes, and whether a text ends after it.
Piece = tuple[int, bytes, bool]


class Chunk(NamedTuple):
    """A piece of a document, cut anywhere.

    `document`: the document's name. `number`: the place of the chunk in it, from 0. `text`: str, or bytes of UTF-8,
    which may be cut inside a character; None is an empty text. `last`: whether the document ends with this chunk.
    """

    document: str
    number: int
    text: str | bytes | None
    last: bool = False


class TokenizedDocument(NamedTuple):
    """The ids of a whole document: an Arrow array of int32."""

    document: str
    input_ids: pa.Int32Array


class TokenizedChunk(NamedTuple):
    """The ids of a document that were decided with one of its chunks: an Arrow array of int32."""

    document: str
    number: int
    input_ids: pa.Int32Array


@dataclass(frozen=True)
class ChunkSettings:
    """How chunks become rows. Fields and units: as the arguments of `TokenizeChunks`. Raises ConfigError."""

    rows: str = "documents"
    on_gap: str = "dead_letter"
    max_document_mb: int = 1024
    max_early_mb: int = 64
    gap_timeout: float = 600.0

    def __post_init__(self) -> None:
        for name, choices in (("rows", ("documents", "chunks")), ("on_gap", ("dead_letter", "emit"))):
            if getattr(self, name) not in choices:
                raise ConfigError(f"{name} has to be {' or '.join(choices)}, not {getattr(self, name)!r}.")
        for name in ("max_document_mb", "max_early_mb", "gap_timeout"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} has to be more than 0, not {getattr(self, name)!r}.")


def split_chunk(chunk: Chunk) -> tuple[bytes, Piece]:
    """The name of the document as bytes, and the chunk without it. A number out of range becomes NO_NUMBER.

    Raises TypeError where a field is of another type.
    """
    document, number, text, last = chunk
    if not isinstance(document, str):
        raise TypeError(f"The document of a chunk has to be a str, not {type(document).__name__} ({document!r}).")
    try:
        number = operator.index(number)
    except TypeError:
        found = f"{type(number).__name__} ({number!r})"
        raise TypeError(f"The number of a chunk of {document!r} has to be a whole number, not {found}.") from None
    if not isinstance(text, (str, bytes, type(None))):
        raise TypeError(f"Chunk {number} of {document!r} has to be str or bytes, not {type(text).__name__}.")
    number = number if 0 <= number <= MAX_NUMBER else NO_NUMBER
    return document.encode("utf-8", "surrogatepass"), (number, _text_bytes(text or b""), bool(last))


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


def digest_of(text: bytes, last: bool) -> bytes:
    """16 bytes that tell contents of chunks apart."""
    return hashlib.blake2b(text, digest_size=16, key=b"last" if last else b"").digest()


def stretches(numbers: Sequence[int]) -> Iterator[tuple[int, bool]]:
    """Sorted numbers, each with whether the next one is missing: what follows a gap is a text of its own."""
    for place, number in enumerate(numbers, 1):
        yield number, place == len(numbers) or numbers[place] != number + 1


def spool_file() -> IO[bytes]:
    """A file in memory up to SPOOL_BYTES, and then on disk, in the folder of temporary files (TMPDIR)."""
    return tempfile.SpooledTemporaryFile(SPOOL_BYTES)


class ChunkSpool:
    """The chunks of one document as they come: texts in a file, and an index of about LEAST_WEIGHT bytes a chunk.

    `file`: empty, to read and write (`spool_file`). `limit`: what all chunks may weigh, in bytes.
    """

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._limit = limit
        self._file = file
        # The row of a number, and where the text of a row starts in the file: the next one begins where it ends.
        self._rows: dict[int, int] = {}
        self._starts = array("q", [0])
        self._ends: set[int] = set()
        self._conflicts: set[int] = set()
        self._misnumbered = 0
        self._weight = 0
        self.duplicates = 0

    def add(self, number: int, text: bytes, last: bool) -> bool:
        """Add a chunk. False where the document is too large now: there is no use in adding more."""
        if number == NO_NUMBER:
            self._misnumbered += 1
        elif number in self._rows:
            self._compare(number, text, last)
        else:
            self._weight += weight_of(text)
            if self.is_too_large:
                return False
            self._file.seek(self._starts[-1])
            self._file.write(text)
            self._rows[number] = len(self._rows)
            self._starts.append(self._starts[-1] + len(text))
        if last and number != NO_NUMBER:
            self._ends.add(number)
        return True

    def _compare(self, number: int, text: bytes, last: bool) -> None:
        if last == (number in self._ends) and text == self._read(number):
            self.duplicates += 1
        else:
            self._conflicts.add(number)

    def _read(self, number: int) -> bytes:
        row = self._rows[number]
        self._file.seek(self._starts[row])
        return self._file.read(self._starts[row + 1] - self._starts[row])

    def pieces(self) -> Iterator[Piece]:
        """The chunks in order, without those that are in conflict; a text ends before each gap."""
        for number, ends in stretches(sorted(self._rows.keys() - self._conflicts)):
            yield number, self._read(number), ends

    @property
    def is_too_large(self) -> bool:
        return self._weight > self._limit

    @property
    def chunks(self) -> int:
        """How many different chunks there are."""
        return len(self._rows)

    def faults(self) -> Faults:
        """What is wrong with the document, when all its chunks are there."""
        if self.is_too_large:
            return Faults([too_large(self._limit)])
        fatal = []
        if self._misnumbered:
            fatal.append(misnumbered(self._misnumbered))
        numbers = sorted(self._rows)
        end = min(self._ends, default=MAX_NUMBER)
        if numbers and numbers[-1] > end:
            fatal.append(after_the_end(end, numbers[-1]))
        return Faults(fatal, gaps_between(numbers, bool(self._ends)), sorted(self._conflicts))


def first_invalid(pieces: Iterable[Piece]) -> int | None:
    """The number of the chunk with which a document stops being UTF-8; None where it is UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for number, text, ends in pieces:
        try:
            decoder.decode(text, ends)
        except UnicodeDecodeError:
            return number
    return None


class InvalidChunk(Exception):
    """Text that is not UTF-8, where that is an error: with the chunk of this number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def encode_pieces(stream: Stream, pieces: Iterable[Piece]) -> Iterator[tuple[Sequence[int], Any, Counts]]:
    """Feed chunks, many small ones in one call: their numbers, their ids (an Arrow list array, a row each), counts.

    Raises InvalidChunk where the tokenizer of the stream refuses text that is not UTF-8.
    """
    for batch in _batches(pieces):
        numbers, texts, ends = zip(*batch, strict=True)
        chunks = pa.array(texts, pa.large_binary())
        try:
            rows, counts = stream.feed_arrow_counted(chunks, pa.array(ends, pa.bool_()))
        except TextError as error:
            raise InvalidChunk(numbers[error.row]) from error
        yield numbers, rows.column("input_ids"), counts


def _batches(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    batch: list[Piece] = []
    weight = 0
    for piece in pieces:
        batch.append(piece)
        weight += weight_of(piece[1])
        if weight >= BATCH_WEIGHT:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def ids_bytes(ids: Any) -> bytes:
    """An Arrow array of int32 without nulls as its bytes alone, without those around a slice."""
    data = ids.buffers()[1]
    start = 4 * ids.offset
    return bytes(memoryview(data)[start : start + 4 * len(ids)]) if data is not None else b""


def ids_array(data: bytes) -> Any:
    """The array of such bytes."""
    return pa.Array.from_buffers(pa.int32(), len(data) // 4, [None, pa.py_buffer(data)])
