"""Chunks that are in order -> their ids. No Beam in here."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from beam_wordpiece.chunks.elements import Piece, weight_of
from beam_wordpiece.chunks.settings import MB
from beam_wordpiece.errors import TextError
from beam_wordpiece.stream import Stream
from beam_wordpiece.tokenizer import Counts

# What chunks weigh that go through the kernel in one call.
BATCH_WEIGHT = MB


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
    """Text that the tokenizer refuses, with the chunk of this number: what is wrong with it and what to do."""

    def __init__(self, number: int, fault: str) -> None:
        super().__init__(number, fault)
        self.number = number
        self.fault = fault


def encode_pieces(stream: Stream, pieces: Iterable[Piece]) -> Iterator[tuple[Sequence[int], Any, Counts]]:
    """Feed chunks, many small ones in one call: their numbers, their ids (an Arrow list array, a row each), counts.

    The ids are the numbers of the kernel, for which the tokenizer has a `name`.

    Raises InvalidChunk where the tokenizer of the stream refuses the text.
    """
    for batch in _batches(pieces):
        numbers, texts, ends = zip(*batch, strict=True)
        chunks = pa.array(texts, pa.large_binary())
        try:
            rows, counts = stream.feed_numbers(chunks, pa.array(ends, pa.bool_()))
        except TextError as error:
            raise InvalidChunk(numbers[error.row], error.fault) from error
        yield numbers, rows, counts


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
