"""A text file, compressed or not, of any size -> rows of the output. Read as a stream, never whole. No Beam in here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from beam_wordpiece.config import FileSettings
from beam_wordpiece.documents import DocumentEncoder, Pieces, numbers_within
from beam_wordpiece.errors import InputError, TextError
from beam_wordpiece.parquet import OUTPUT_COLUMN, one_line
from beam_wordpiece.tokenizer import Counts, TextEncoder

DOCUMENT_COLUMN, CHUNK_COLUMN, TEXT_COLUMN = "document", "chunk", "text"
SUFFIXES = (".txt", ".text")
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

# Bytes of text that are read at a time; a chunk has no more, but for a few bytes that were not decided before.
BLOCK_BYTES = 1 << 20
# Bytes at both ends of a file that, with its size, tell it from others. Those of a gzip file have its checksum.
DIGEST_BYTES = 64 << 10


class TextSource:
    """A file of text: a document for each line, for each text that a separator ends, or for all of it.

    A line ends with "\\n" or "\\r\\n". What ends a document does not begin another: the last one needs no end, an end
    after it changes nothing, and two ends in a row have an empty document between them. An empty file has no document;
    where the file is the document, an empty one.
    """

    def __init__(self, file: pa.NativeFile, settings: FileSettings, where: str, id_type: pa.DataType) -> None:
        self._file = file
        self._settings = settings
        self._where = where
        fields: list[pa.Field[Any]] = [pa.field(DOCUMENT_COLUMN, pa.int64())]
        if settings.rows == "chunks":
            fields.append(pa.field(CHUNK_COLUMN, pa.int64()))
        if settings.keep_text:
            fields.append(pa.field(TEXT_COLUMN, pa.string()))
        self.schema = pa.schema([*fields, pa.field(OUTPUT_COLUMN, pa.list_(id_type))])
        """The schema of the output."""

    def tables(self, tokenizer: TextEncoder) -> Iterator[tuple[pa.Table, Counts, float]]:
        """Rows of the output in order, what was counted, and the bytes of the file they stand for.

        Memory: two blocks of text, and what there is of a document whose row is not complete. Raises InputError.
        """
        joined = [TEXT_COLUMN] if self._settings.keep_text else []
        encoder = DocumentEncoder(tokenizer, self._settings, self._where, DOCUMENT_COLUMN, joined)
        told = 0
        for pieces in self._pieces():
            try:
                table, counts = encoder.encode(pieces, self.schema)
            except TextError as error:
                document = pieces.columns.column(DOCUMENT_COLUMN)[error.row].as_py()
                raise InputError(f"{self._where}: the text of document {document} {error.fault}") from error
            made = [table]
            del pieces, table
            place = self._file.tell()
            yield made.pop(), counts, place - told
            told = place

    def _pieces(self) -> Iterator[Pieces]:
        cutter = _Cutter(self._settings)
        documents = chunks = 0
        goes_on = False
        for block, is_last in self._blocks():
            texts = cutter.cut(block, is_last)
            del block
            count = len(texts)
            if count == 0:
                continue
            begins = pa.concat_arrays([pa.array([not goes_on]), pa.repeat(True, count - 1)])
            ends = pa.concat_arrays([pa.repeat(True, count - 1), pa.array([not cutter.is_open])])
            numbers: Any = pc.add(pc.cumulative_sum(begins.cast(pa.int64())), documents - 1)
            within = numbers_within(begins, chunks)
            documents, chunks, goes_on = numbers[-1].as_py() + 1, within[-1].as_py() + 1, cutter.is_open
            columns = {DOCUMENT_COLUMN: numbers, CHUNK_COLUMN: within}
            if self._settings.keep_text:
                columns[TEXT_COLUMN] = _as_strings(texts)
            names = self.schema.names[:-1]
            yield Pieces(pa.table({name: columns[name] for name in names}), texts, begins, ends)

    def _blocks(self) -> Iterator[tuple[bytes, bool]]:
        """The text in blocks, and whether a block is the last: only that of an empty file is empty."""
        stream = self._decompressed()
        block, is_last = self._read(stream), False
        while not is_last:
            following = self._read(stream)
            is_last = not following
            full, block = [block], following
            del following
            yield full.pop(), is_last

    def _decompressed(self) -> pa.NativeFile:
        kind = compression_of(self._where)
        if kind is None:
            return self._file
        if self._file.size() == 0:
            raise InputError(f"{self._where} is cut off: it is empty, which no file of {kind} is.")
        compression: Any = kind
        return pa.CompressedInputStream(self._file, compression)

    def _read(self, stream: pa.NativeFile) -> bytes:
        parts, missing = [], BLOCK_BYTES
        try:
            # Less than what is asked for is given also where there is more to come.
            while missing and (part := stream.read(missing)):
                parts.append(part)
                missing -= len(part)
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"{self._where} cannot be read to its end: {one_line(error)}; is it damaged or cut off?"
            ) from error
        return parts[0] if len(parts) == 1 else b"".join(parts)


class _Cutter:
    """Cuts blocks of text where documents end. Holds back what the next block decides: a few bytes."""

    def __init__(self, settings: FileSettings) -> None:
        self._kind = settings.documents
        self._end = {"line": "\r\n", "separator": settings.separator or "", "file": ""}[self._kind].encode()
        self._held = b""
        self.is_open = False
        """Whether the last document that has a piece so far goes on in the next block."""

    def cut(self, block: bytes, is_last: bool) -> pa.ChunkedArray[Any]:
        """The pieces of the next block, large_binary: all but the last one end a document."""
        data = self._held + block
        if self._kind == "line":
            data = data.replace(b"\r\n", b"\n")
        pieces: Any = pa.array([data], pa.large_binary())
        if self._kind != "file":
            pieces = pc.split_pattern(pieces, pattern="\n" if self._kind == "line" else self._end.decode()).values
        rest = pieces[-1].as_py()
        undecided = 0 if is_last else max(self._begun_end(rest), _begun_character(rest))
        whole = len(rest) - undecided
        rest, self._held = rest[:whole], rest[whole:]
        chunks = [pieces.slice(0, len(pieces) - 1)]
        has_rest = bool(rest) or (is_last and self._kind == "file")
        self.is_open = has_rest and not is_last
        if has_rest:
            chunks.append(pa.array([rest], pa.large_binary()))
        return pa.chunked_array(chunks)

    def _begun_end(self, data: bytes) -> int:
        """How many bytes there are of what may become the end of a document."""
        return next((size for size in range(len(self._end) - 1, 0, -1) if data.endswith(self._end[:size])), 0)


def _begun_character(data: bytes) -> int:
    """How many bytes there are of a character of UTF-8 that is not whole yet."""
    for size in range(1, min(3, len(data)) + 1):
        byte = data[-size]
        if byte >= 0xC0:
            return size if size < 2 + (byte >= 0xE0) + (byte >= 0xF0) else 0
        if byte < 0x80:
            return 0
    return 0


def _as_strings(texts: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """Bytes as strings, U+FFFD for each part that is not UTF-8."""
    try:
        return texts.cast(pa.string())
    except pa.ArrowInvalid:
        decoded: Any = pa.array([str(text or b"", "utf-8", "replace") for text in texts.to_pylist()], pa.string())
        return pa.chunked_array([decoded])


def compression_of(path: str) -> str | None:
    """How a text file is compressed, by its name; None where it is not."""
    return next((kind for suffix, kind in COMPRESSIONS.items() if path.lower().endswith(suffix)), None)


def ends_digest(file: pa.NativeFile) -> str:
    """The SHA-256 of the beginning and the end of a file."""
    size = file.size()
    digest = hashlib.sha256(file.read(DIGEST_BYTES))
    file.seek(max(0, size - DIGEST_BYTES))
    digest.update(file.read(DIGEST_BYTES))
    file.seek(0)
    return digest.hexdigest()
