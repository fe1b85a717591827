"""A text file, compressed or not, of any size -> rows of the output. Read as a stream, never whole. No Beam in here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from beam_wordpiece.checks import AUTOMATON_MAGIC
from beam_wordpiece.config import FileSettings
from beam_wordpiece.documents import DocumentEncoder, Pieces, numbers_within
from beam_wordpiece.errors import ConfigError, InputError, TextError
from beam_wordpiece.parquet import OUTPUT_COLUMN, one_line
from beam_wordpiece.tokenizer import Counts, TextEncoder

DOCUMENT_COLUMN, CHUNK_COLUMN, TEXT_COLUMN = "document", "chunk", "text"
SUFFIXES = (".txt", ".text")
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

_UNPACK = "unpack it, and give the text plain, as .gz or as .zst"
# What other formats begin with, and no text does; what they are called, and what to do with such a file.
NO_TEXT = {
    b"\x1f\x8b\x08": ("gzip", "let its name end in .gz if it is packed once, otherwise unpack it"),
    b"\x28\xb5\x2f\xfd": ("zstd", "let its name end in .zst if it is packed once, otherwise unpack it"),
    **{b"BZh%d1AY&SY" % level: ("bzip2", _UNPACK) for level in range(1, 10)},
    b"\xfd7zXZ\0": ("xz", _UNPACK),
    b"PK\x03\x04": ("zip", _UNPACK),
    b"7z\xbc\xaf\x27\x1c": ("7z", _UNPACK),
    b"\x04\x22\x4d\x18": ("lz4", _UNPACK),
    b"PAR1\x15": ("Parquet", "let its name end in .parquet, and leave --format (setting `format`) text out"),
    AUTOMATON_MAGIC: ("a compiled automaton", "give the text that is to be tokenized"),
}

LONGEST_MAGIC = max(map(len, NO_TEXT))
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

        Memory: two blocks of text, and what there is of a document whose row is not complete. Raises InputError,
        and ConfigError where documents cannot come in pieces.
        """
        if tokenizer.needs_whole:
            raise ConfigError(
                f"{self._where}: text files are read in pieces, and {tokenizer.needs_whole} needs the whole of a word "
                "or stretch; give the texts as rows of Parquet, or compile with backward=False and "
                'segmentation="greedy".'
            )
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
        for block, is_last in text_blocks(self._file, self._where):
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


def read_lines(file: pa.NativeFile, where: str) -> Iterator[list[bytes]]:
    """The lines of a text file, compressed or not by its name, some at a time and without what ends them.

    Those of a pipe come when they are written, where `file` gives what there is. Raises InputError where the file is
    damaged or is no text.
    """
    stream = _decompressed(file, where)
    cutter = _Cutter(FileSettings())
    held = list[bytes]()
    begin: bytes | None = b""
    while block := _read_some(stream, where, BLOCK_BYTES):
        if begin is not None:
            begin += block[:LONGEST_MAGIC]
            _refuse_other_formats(begin, where)
            begin = begin if len(begin) < LONGEST_MAGIC else None
        lines: Any = cutter.cut(block, False).to_pylist()
        # The parts of an open line are put together once, when it ends.
        if len(lines) > cutter.is_open:
            lines[0] = b"".join([*held, lines[0]])
            held.clear()
        if cutter.is_open:
            held.append(lines.pop())
        yield lines
    rest: Any = cutter.cut(b"", True).to_pylist()
    held += rest
    if held:
        yield [b"".join(held)]


def text_blocks(file: pa.NativeFile, where: str) -> Iterator[tuple[bytes, bool]]:
    """The text of a file in blocks, and whether a block is the last: only that of an empty file is empty.

    A file is compressed where its name says so. Raises InputError where it is damaged, or is no text by how it begins.
    """
    stream = _decompressed(file, where)
    block, is_last = _read(stream, where), False
    _refuse_other_formats(block, where)
    while not is_last:
        following = _read(stream, where)
        is_last = not following
        full, block = [block], following
        del following
        yield full.pop(), is_last


def _refuse_other_formats(block: bytes, where: str) -> None:
    for magic, (kind, remedy) in NO_TEXT.items():
        if block.startswith(magic):
            raise InputError(f"{where} is no text: it begins as {kind} does; {remedy}.")


def _is_empty(file: pa.NativeFile) -> bool:
    try:
        return file.size() == 0
    except OSError:
        # A pipe has no size.
        return False


def _decompressed(file: pa.NativeFile, where: str) -> pa.NativeFile:
    kind = compression_of(where)
    if kind is None:
        return file
    if _is_empty(file):
        raise InputError(f"{where} is cut off: it is empty, which no file of {kind} is.")
    compression: Any = kind
    return pa.CompressedInputStream(file, compression)


def _read(stream: pa.NativeFile, where: str) -> bytes:
    parts, missing = [], BLOCK_BYTES
    # Less than what is asked for is given also where there is more to come.
    while missing and (part := _read_some(stream, where, missing)):
        parts.append(part)
        missing -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _read_some(stream: pa.NativeFile, where: str, size: int) -> bytes:
    """The next bytes, `size` at most, none only at the end. Raises InputError."""
    try:
        return stream.read(size)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{where} cannot be read to its end: {one_line(error)}; is it damaged or cut off?") from error


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
