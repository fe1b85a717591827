"""The DoFn of documents whose chunks have all been grouped, and what it shares with that of streams."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import pyarrow as pa
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import TaggedOutput

from beam_wordpiece.chunk_faults import MB, DeadLetter, Faults, not_utf8
from beam_wordpiece.chunks import (
    ChunkSettings,
    ChunkSpool,
    Piece,
    TokenizedChunk,
    TokenizedDocument,
    document_name,
    encode_pieces,
    first_invalid,
    ids_array,
    ids_bytes,
    spool_file,
)
from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import InputError
from beam_wordpiece.stream import Stream
from beam_wordpiece.tokenizer import Counts, Tokenizer
from beam_wordpiece.transforms import NAMESPACE, _TokenizerDoFn

TOKENIZED = "tokenized"
DEAD_LETTERS = "dead_letters"
COUNTERS = (
    "chunks",
    "chunks_duplicate",
    "chunks_conflict",
    "chunks_late",
    "documents_incomplete",
    "documents_dead",
)


class ChunksDoFn(_TokenizerDoFn):
    """Makes rows and dead letters, and counts them."""

    def __init__(self, automaton: str, settings: FileSettings, chunks: ChunkSettings) -> None:
        super().__init__(automaton, settings)
        self.how = chunks
        self._more = {name: Metrics.counter(NAMESPACE, name) for name in COUNTERS}

    @property
    def limit(self) -> int:
        """What the chunks of a document may weigh, in bytes."""
        return int(self.how.max_document_mb * MB)

    @property
    def early_limit(self) -> int:
        """What chunks that wait for others may weigh, in bytes."""
        return int(self.how.max_early_mb * MB)

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    def add(self, name: str, number: int = 1) -> None:
        """Count something of COUNTERS."""
        self._more[name].inc(number)

    def count_text(self, counts: Counts) -> None:
        """Count text that was fed. How many stretches it has, and how many of them are invalid, says nothing here."""
        self._count(dataclasses.replace(counts, documents=0, nulls=0, invalid=0))

    def count_document(self, invalid: bool) -> None:
        self._count(Counts(documents=1, invalid=int(invalid)))

    def dead_letter(self, letter: DeadLetter, *, given: bool) -> Any:
        """The output for a document that is done with. `given`: what there is of it was given as a row or rows."""
        self.add("documents_incomplete" if given else "documents_dead")
        return TaggedOutput(DEAD_LETTERS, letter)


def chunk_rows(document: str, numbers: Sequence[int], column: Any) -> Iterator[TokenizedChunk]:
    """A row for each chunk of a list column. Each has its own copy of its ids, not a slice of all."""
    for number, row in zip(numbers, column, strict=True):
        yield TokenizedChunk(document, number, ids_array(ids_bytes(row.values)))


class TokenizeGroups(ChunksDoFn):
    """All chunks of a document, in any order, to its rows."""

    def process(self, element: tuple[bytes, Iterable[Piece]]) -> Iterator[Any]:
        key, chunks = element
        document = document_name(key)
        with spool_file() as file:
            spool = self._spooled(document, chunks, file)
            faults = self._faults(spool)
            self.add("chunks_duplicate", spool.duplicates)
            self.add("chunks_conflict", len(faults.conflicts))
            rows = 0
            if not faults or (self.how.on_gap == "emit" and not faults.fatal):
                for row in self._rows(document, spool):
                    rows += 1
                    yield row
        if faults:
            letter = faults.letter(document, spool.chunks, spool.duplicates, rows)
            yield self.dead_letter(letter, given=rows > 0)

    def _spooled(self, document: str, chunks: Iterable[Piece], file: IO[bytes]) -> ChunkSpool:
        """The chunks of a document, as far as it may have them. Raises InputError where the disk is full."""
        spool = ChunkSpool(file, self.limit)
        for number, text, last in chunks:
            try:
                if not spool.add(number, text, last):
                    break
            except OSError as error:
                raise InputError(
                    f"The chunks of the document {document!r} cannot be kept in the folder of temporary files, "
                    f"{tempfile.gettempdir()}: {error.strerror}; make room, or name another one with TMPDIR."
                ) from error
        return spool

    def _faults(self, spool: ChunkSpool) -> Faults:
        """What is wrong, also with the text: before the first row is given, so that there is none of a bad document."""
        faults = spool.faults()
        if self._settings.errors == "error" and not faults.fatal:
            number = first_invalid(spool.pieces())
            if number is not None:
                faults.fatal.append(not_utf8(number))
        return faults

    def _rows(self, document: str, spool: ChunkSpool) -> Iterator[TokenizedChunk | TokenizedDocument]:
        parts: list[Any] = []
        total = Counts()
        for numbers, column, counts in encode_pieces(Stream(self._tokenizer), spool.pieces()):
            total += counts
            self.add("chunks", len(numbers))
            if self.how.rows == "chunks":
                yield from chunk_rows(document, numbers, column)
            else:
                parts.append(column.flatten())
        self.count_text(total)
        if total.documents:
            self.count_document(total.invalid > 0)
        if parts:
            yield TokenizedDocument(document, pa.concat_arrays(parts))
