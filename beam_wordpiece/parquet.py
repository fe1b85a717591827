"""One Parquet file in: which columns are read and passed on, and in which portions.

The file that comes out is the business of `parquet_writer.py`. No Beam in here; files come as `pyarrow.NativeFile`,
and where they are is the business of `io.py`.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import InputError, TextError
from beam_wordpiece.tokenizer import Counts, TextEncoder, is_large

OUTPUT_COLUMN = "input_ids"

# Bytes that a portion read from a file has on average: small, so that a run of far larger rows does no harm.
PORTION_BYTES = 512 << 10
# Bytes of text that go through the kernel in one call.
BLOCK_BYTES = 4 << 20
# Of a column with a dictionary, so many rows are looked at, or fewer when they are so large.
SAMPLE_ROWS = 16

# Schema metadata of other tools that describe columns one by one, and would be wrong about the output.
_STALE_METADATA = (b"pandas", b"huggingface")


class Layout:
    """Where the text is in a schema, and which columns go on beside `input_ids`.

    `where` names the file or table in messages, `id_type` is the type of an id. `column`: what stands in the place of
    `input_ids`, where that is something else. Raises InputError where the columns do not fit the settings.
    """

    def __init__(
        self,
        schema: pa.Schema,
        settings: FileSettings,
        where: str,
        id_type: pa.DataType = TextEncoder.id_type,
        column: str = OUTPUT_COLUMN,
    ) -> None:
        self._where = where
        self._schema = schema
        self._settings = settings
        self._path = self._find_text(settings.text_column)
        keep_text = settings.keep_text or settings.text_column in (settings.columns or ())
        passed = self._passed_columns(settings)
        pieces = [name for name in (settings.chunk_column,) if name is not None]
        self.read_columns = None if settings.columns is None else [*passed, settings.text_column, *pieces]
        # (column, path below it that is left out)
        self._passed: list[tuple[str, tuple[str, ...]]] = []
        fields = []
        for name in passed:
            item: Any = schema.field(name)
            cut: tuple[str, ...] = ()
            if name == self._path[0] and not keep_text:
                cut = self._path[1:]
                item = _field_without(item, cut) if cut else None
            if item is not None:
                self._passed.append((name, cut))
                fields.append(item)
        if any(item.name == column for item in fields):
            hint = "rename it, or leave it out by naming the columns to pass through"
            raise InputError(f"{where} has a column {column} already; {hint}.")
        ids = pa.field(column, pa.list_(id_type))
        metadata: Any = {key: value for key, value in (schema.metadata or {}).items() if key not in _STALE_METADATA}
        self.schema: pa.Schema = pa.schema([*fields, ids], metadata=metadata)
        """The schema of the output."""

    def texts(self, batch: pa.RecordBatch) -> pa.Array[Any]:
        """The text of a batch, one a row; null where the text or a struct around it is null."""
        column: Any = batch.column(batch.schema.get_field_index(self._path[0]))
        for name in self._path[1:]:
            column = pc.struct_field(column, [column.type.get_field_index(name)])
        texts: pa.Array[Any] = column
        return texts

    def encode(
        self, batches: Sequence[pa.RecordBatch], tokenizer: TextEncoder, before: int
    ) -> tuple[pa.RecordBatch, Counts]:
        """The `input_ids` of all rows of the batches, in one call. `before`: rows of the file that came earlier."""
        texts: Any = [self.texts(batch) for batch in batches]
        try:
            return tokenizer.encode_arrow_counted(pa.chunked_array(texts))
        except TextError as error:
            raise self.refused(pa.Table.from_batches(batches), error, before) from error

    def refused(self, table: pa.Table, error: TextError, before: int) -> InputError:
        """The error about the text in a row of `table`. `before`: rows of the file that came earlier."""
        row = error.row
        column, name = self._settings.id_column or self._settings.document_column, ""
        if column is not None:
            name = f" ({column} {table.column(column)[row].as_py()!r})"
        return InputError(
            f"{self._where}, row {before + row}{name}: the text of {self._settings.text_column!r} {error.fault}"
        )

    def output(self, batches: Sequence[pa.RecordBatch], ids: pa.RecordBatch) -> pa.Table:
        """The rows of the output: what is passed through of `batches`, and the `input_ids` of all of them.

        Raises InputError where these are too many, as `id_lists` has it.
        """
        lists = id_lists(ids, self._where).cast(self.schema.field(OUTPUT_COLUMN).type)
        return pa.Table.from_arrays([*self.passed(batches).columns, lists], schema=self.schema)

    def passed(self, batches: Sequence[pa.RecordBatch]) -> pa.Table:
        """The columns of the output beside the ids."""
        columns: list[Any] = []
        fields = list(self.schema)[:-1]
        for (name, cut), item in zip(self._passed, fields, strict=True):
            chunks: Any = [batch.column(batch.schema.get_field_index(name)) for batch in batches]
            if cut:
                chunks = [_array_without(chunk, cut) for chunk in chunks]
            columns.append(pa.chunked_array(chunks, type=item.type))
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))

    def _find_text(self, name: str) -> tuple[str, ...]:
        """The path of the text column from the top; a column whose own name has dots comes before a struct's field."""
        path = (name,) if name in self._schema.names else tuple(name.split("."))
        self._require_column(path[0], name)
        kind = self._schema.field(path[0]).type
        for part in path[1:]:
            if not pa.types.is_struct(kind) or kind.get_field_index(part) < 0:
                inside = f"; fields: {', '.join(f.name for f in kind)}" if pa.types.is_struct(kind) else ""
                raise InputError(f"{self._where} has no column {name!r}: there is no field {part!r} in {kind}{inside}.")
            kind = kind.field(part).type
        if not _is_text(kind):
            raise InputError(f"{self._where}: the column {name!r} holds {kind}, not text.")
        return path

    def _require_column(self, name: str, asked: str) -> None:
        count = self._schema.names.count(name)
        if count == 0:
            there = ", ".join(self._schema.names) or "none"
            raise InputError(f"{self._where} has no column {asked!r}; the columns are: {there}.")
        if count > 1:
            raise InputError(f"{self._where} has {count} columns of the name {name!r}; rename all but one.")

    def _passed_columns(self, settings: FileSettings) -> list[str]:
        """The names of the top-level columns to pass through, in the order of the input."""
        asked = set(self._schema.names if settings.columns is None else settings.columns)
        always = (settings.id_column, settings.document_column, settings.chunk_column)
        asked.update(name for name in always if name is not None)
        if settings.keep_text:
            asked.add(self._path[0])
        for name in sorted(asked):
            self._require_column(name, name)
        if settings.rows == "documents" and settings.chunk_column is not None:
            asked.remove(settings.chunk_column)
        return [name for name in self._schema.names if name in asked]


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    # By name, because the first pyarrow that is supported does not have the views.
    return str(kind) in ("string", "large_string", "string_view", "binary", "large_binary", "binary_view", "null")


def _field_without(item: pa.Field[Any], cut: tuple[str, ...]) -> pa.Field[Any] | None:
    """The struct field `item` without what is at the path `cut` below it; None where nothing is left."""
    kept = []
    for child in item.type:
        rest = child if child.name != cut[0] else _field_without(child, cut[1:]) if cut[1:] else None
        if rest is not None:
            kept.append(rest)
    return item.with_type(pa.struct(kept)) if kept else None


def _array_without(array: Any, cut: tuple[str, ...]) -> pa.StructArray:
    """The values that belong to `_field_without`."""
    children, kept = [], []
    for child, values in zip(array.type, array.flatten(), strict=True):
        if child.name != cut[0]:
            children.append(child)
            kept.append(values)
        elif cut[1:] and (rest := _field_without(child, cut[1:])) is not None:
            children.append(rest)
            kept.append(_array_without(values, cut[1:]))
    return pa.StructArray.from_arrays(kept, fields=children, mask=array.is_null())


def id_lists(ids: pa.RecordBatch, where: str) -> Any:
    """The column of a batch of ids. Raises InputError where an output cannot have it: its offsets have 32 bits."""
    lists: Any = ids.column(OUTPUT_COLUMN)
    if is_large(lists) or pa.types.is_large_string(lists.type.value_type):
        much = "2**31 token ids or more" if is_large(lists) else "2 GiB of token ids or more"
        raise InputError(
            f"{where}: {ids.num_rows} rows have {much}, which are too many for one column; split the table, or a text"
            " that is so long."
        )
    return lists


def open_parquet(file: pa.NativeFile, where: str) -> pq.ParquetFile:
    """A Parquet file to be read in portions. Raises InputError where it is cut off or no Parquet file."""
    try:
        # Buffered, so that a column chunk of a large row group is not held whole.
        return pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{where} cannot be read as Parquet: {one_line(error)}.") from error


def footer_digest(file: pa.NativeFile, where: str) -> str:
    """The SHA-256 of the footer, which has the place, size and statistics of every column chunk.

    Raises InputError where the file does not begin and end as a Parquet file does.
    """
    size = file.size()
    magic = file.read(4) if size >= 12 else b""
    if magic not in (b"PAR1", b"PARE"):
        raise InputError(
            f"{where} is not a Parquet file: its {size} bytes do not begin as one does; where it is text, give "
            "--format text (setting `format`)."
        )
    file.seek(size - 8)
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != magic or length > size - 12:
        raise InputError(f"{where} is cut off or damaged: its {size} bytes do not end as a Parquet file does.")
    file.seek(size - 8 - length)
    digest = hashlib.sha256(file.read(length)).hexdigest()
    file.seek(0)
    return digest


def read_blocks(parquet: pq.ParquetFile, layout: Layout, where: str) -> Iterator[list[pa.RecordBatch]]:
    """All rows in order, in blocks of about `BLOCK_BYTES`; a block is a few batches. Raises InputError.

    Memory: a block, and at most one portion more. Rows that are larger than a portion are read one at a time.
    """
    block: list[pa.RecordBatch] = []
    size = 0
    batches = _read_batches(parquet, layout.read_columns)
    while (read := _next(batches, where)) is not None:
        parts = _parts(read)
        del read
        while parts:
            part, part_size = parts.pop(0)
            size += part_size
            block.append(part)
            del part
            if size >= BLOCK_BYTES:
                full, block, size = [block], [], 0
                # Not held here: whoever has it can let it go.
                yield full.pop()
    if block:
        yield block


def _next(batches: Iterator[pa.RecordBatch], where: str) -> pa.RecordBatch | None:
    try:
        return next(batches, None)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{where} cannot be read to its end: {one_line(error)}; is it damaged?") from error


def _parts(batch: pa.RecordBatch) -> list[tuple[pa.RecordBatch, int]]:
    """A batch and its bytes; in slices of no more than a block where its rows are large, so their ids come in parts."""
    size = batch.nbytes
    if size <= BLOCK_BYTES or batch.num_rows <= 1:
        return [(batch, size)]
    half = batch.num_rows // 2
    return _parts(batch.slice(0, half)) + _parts(batch.slice(half))


def _read_batches(parquet: pq.ParquetFile, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    sizes = _RowSizes(parquet)
    for group in range(parquet.num_row_groups):
        portion = max(1, int(PORTION_BYTES // max(1.0, sizes.of(group))))
        # Beam owns the threads of a worker: none are started here.
        batches: Any = parquet.iter_batches(portion, row_groups=[group], columns=columns, use_threads=False)
        rows = parquet.metadata.row_group(group).num_rows
        while read := list(itertools.islice(batches, 1)):
            rows -= read[0].num_rows
            if rows == 0:
                # Lets the last pages and rows go while these are tokenized and written.
                batches.close()
            yield read.pop()


class _RowSizes:
    """About how many bytes a row takes in memory, one row group after the other.

    The footer knows the encoded size. That of a dictionary says little about a column that repeats long texts, so a few
    rows of such columns are looked at, one at a time: each may be as large as the dictionary. That decodes a dictionary
    twice, and is done again only where a row group has other sizes than the last one that was looked at.
    """

    def __init__(self, parquet: pq.ParquetFile) -> None:
        self._parquet = parquet
        # By column: bytes a row of the data pages, of the dictionary page, and in memory.
        self._samples: dict[str, tuple[float, float, float]] = {}

    def of(self, group: int) -> float:
        """Bytes a row of a row group, all columns together."""
        metadata = self._parquet.metadata.row_group(group)
        rows = max(1, metadata.num_rows)
        # By name: a column a.b and the field b of a struct a are read together.
        encoded: dict[str, float] = {}
        dictionaries: dict[str, float] = {}
        for index in range(metadata.num_columns):
            chunk: Any = metadata.column(index)
            name = chunk.path_in_schema
            encoded[name] = encoded.get(name, 0) + chunk.total_uncompressed_size / rows
            if chunk.has_dictionary_page:
                # As stored: how large it is without compression is not in the footer.
                stored = (chunk.data_page_offset - chunk.dictionary_page_offset) / rows
                dictionaries[name] = dictionaries.get(name, 0) + stored
        decoded = (self._decoded(group, name, encoded[name], stored) for name, stored in dictionaries.items())
        return sum(decoded) + sum(size for name, size in encoded.items() if name not in dictionaries)

    def _decoded(self, group: int, name: str, encoded: float, stored: float) -> float:
        before = self._samples.get(name)
        if before is None or not (_alike(before[0], encoded) and _alike(before[1], stored)):
            before = (encoded, stored, _sampled_bytes_per_row(self._parquet, group, name))
            self._samples[name] = before
        return max(encoded, before[2])


def _alike(size: float, other: float) -> bool:
    """Whether neither of two sizes is twice the other, or more."""
    return max(size, other) < 2 * min(size, other)


def _sampled_bytes_per_row(parquet: pq.ParquetFile, group: int, column: str) -> float:
    rows, size = 0, 0.0
    for batch in parquet.iter_batches(1, row_groups=[group], columns=[column], use_threads=False):
        rows, size = rows + batch.num_rows, size + sum(map(_decoded_size, batch.columns))
        if rows >= SAMPLE_ROWS or size >= PORTION_BYTES:
            break
    return size / max(1, rows)


def _decoded_size(array: Any) -> float:
    if pa.types.is_dictionary(array.type):
        return float(len(array) * array.dictionary.nbytes / max(1, len(array.dictionary)))
    return float(array.nbytes)


def one_line(error: BaseException) -> str:
    """The text of an exception as part of a sentence."""
    return " ".join(str(error).split()).rstrip(".")
