"""The DoFn of documents whose chunks have all been grouped."""

from __future__ import annotations

import collections
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

import pyarrow as pa

from beam_wordpiece.chunks.dofn import ChunksDoFn, chunk_rows
from beam_wordpiece.chunks.elements import Piece, TokenizedChunk, TokenizedDocument, document_name
from beam_wordpiece.chunks.encode import InvalidChunk, encode_pieces, first_invalid
from beam_wordpiece.chunks.faults import Faults, not_utf8, refused
from beam_wordpiece.chunks.spool import ChunkSpool, spool_file
from beam_wordpiece.errors import InputError
from beam_wordpiece.stream import Stream
from beam_wordpiece.tokenizer import Counts


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
        spool = ChunkSpool(file, self.how.document_bytes, self.how.ends_unmarked)
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
        if self._tokenizer.refuses_unknown and not faults.fatal:
            try:
                collections.deque(encode_pieces(Stream(self._tokenizer), spool.pieces()), maxlen=0)
            except InvalidChunk as error:
                faults.fatal.append(refused(error.number, error.fault))
        return faults

    def _rows(self, document: str, spool: ChunkSpool) -> Iterator[TokenizedChunk | TokenizedDocument]:
        parts: list[Any] = []
        total = Counts()
        for numbers, column, counts in encode_pieces(Stream(self._tokenizer), spool.pieces()):
            total += counts
            self.add("chunks", len(numbers))
            if self.how.rows == "chunks":
                yield from chunk_rows(self._tokenizer, document, numbers, column)
            else:
                parts.append(column.flatten())
        self.count_text(total)
        if total.documents:
            self.count_document(total.invalid > 0)
        if parts:
            yield TokenizedDocument(document, self._tokenizer.name_values(pa.concat_arrays(parts)))
