"""One Parquet file in, one out: which columns are read and written, in which portions, and how `input_ids` is encoded.

No Beam in here; files come as `pyarrow.NativeFile`, and where they are is the business of `io.py`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import ConfigError, InputError, TextError
from beam_wordpiece.tokenizer import Counts, Tokenizer

OUTPUT_COLUMN = "input_ids"
# The key, in the footer of an output, of what it was made from.
ORIGIN_KEY = b"beam_wordpiece"
# Raised when the same input and settings give other bytes than before, so that a rerun writes them again.
ORIGIN_VERSION = 1

# Bytes that a portion read from a file has on average: small, so that a run of far larger rows does no harm.
PORTION_BYTES = 256 << 10
# Bytes of text that go through the kernel in one call.
BLOCK_BYTES = 4 << 20
# Of a column with a dictionary, so many rows are looked at, or fewer when they are so large.
SAMPLE_ROWS = 16

# Schema metadata of other tools that describe columns one by one, and would be wrong about the output.
_STALE_METADATA = (b"pandas", b"huggingface")


class Layout:
    """Where the text is in a schema, and which columns go on beside `input_ids`.

    `where` names the file or table in messages. Raises InputError where the columns do not fit the settings.
    """

    def __init__(self, schema: pa.Schema, settings: FileSettings, where: str) -> None:
        self._where = where
        self._schema = schema
        self._settings = settings
        self._path = self._find_text(settings.text_column)
        keep_text = settings.keep_text or settings.text_column in (settings.columns or ())
        passed = self._passed_columns(settings)
        self.read_columns = None if settings.columns is None else [*passed, settings.text_column]
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
        if any(item.name == OUTPUT_COLUMN for item in fields):
            hint = "rename it, or leave it out by naming the columns to pass through"
            raise InputError(f"{where} has a column {OUTPUT_COLUMN} already; {hint}.")
        ids = pa.field(OUTPUT_COLUMN, pa.list_(pa.int32()))
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
        self, batches: Sequence[pa.RecordBatch], tokenizer: Tokenizer, before: int
    ) -> tuple[pa.RecordBatch, Counts]:
        """The `input_ids` of all rows of the batches, in one call. `before`: rows of the file that came earlier."""
        texts: Any = [self.texts(batch) for batch in batches]
        try:
            return tokenizer.encode_arrow_counted(pa.chunked_array(texts))
        except TextError as error:
            column, name = self._settings.id_column, ""
            if column is not None:
                name = f" ({column} {pa.Table.from_batches(batches).column(column)[error.row].as_py()!r})"
            raise InputError(
                f"{self._where}, row {before + error.row}{name}: the text of {self._settings.text_column!r} is not"
                " UTF-8; repair it, or set `errors` to replace."
            ) from error

    def output(self, batches: Sequence[pa.RecordBatch], ids: pa.RecordBatch) -> pa.Table:
        """The rows of the output: what is passed through of `batches`, and the `input_ids` of all of them.

        Raises InputError where these are a large_list: the `input_ids` of an output are a list<int32>.
        """
        columns: list[Any] = []
        for (name, cut), item in zip(self._passed, self.schema, strict=False):
            chunks: Any = [batch.column(batch.schema.get_field_index(name)) for batch in batches]
            if cut:
                chunks = [_array_without(chunk, cut) for chunk in chunks]
            columns.append(pa.chunked_array(chunks, type=item.type))
        lists: Any = ids.column(OUTPUT_COLUMN)
        if pa.types.is_large_list(lists.type):
            raise InputError(
                f"{self._where}: {ids.num_rows} rows have 2**31 token ids or more, which are too many for one column;"
                " split the table, or a text that is so long."
            )
        columns.append(lists.cast(self.schema.field(OUTPUT_COLUMN).type))
        return pa.Table.from_arrays(columns, schema=self.schema)

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
        if settings.id_column is not None:
            asked.add(settings.id_column)
        if settings.keep_text:
            asked.add(self._path[0])
        for name in sorted(asked):
            self._require_column(name, name)
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
        raise InputError(f"{where} is not a Parquet file: its {size} bytes do not begin as one does.")
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
            size += parts[0].nbytes
            block.append(parts.pop(0))
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


def _parts(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """A batch, in slices of no more than a block where its rows turned out to be large: so their ids come in parts."""
    if batch.nbytes <= BLOCK_BYTES or batch.num_rows <= 1:
        return [batch]
    half = batch.num_rows // 2
    return _parts(batch.slice(0, half)) + _parts(batch.slice(half))


def _read_batches(parquet: pq.ParquetFile, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    for group in range(parquet.num_row_groups):
        portion = max(1, int(PORTION_BYTES // max(1.0, _bytes_per_row(parquet, group))))
        # Beam owns the threads of a worker: none are started here.
        batches: Any = parquet.iter_batches(portion, row_groups=[group], columns=columns, use_threads=False)
        rows = parquet.metadata.row_group(group).num_rows
        while read := list(itertools.islice(batches, 1)):
            rows -= read[0].num_rows
            if rows == 0:
                # Lets the last pages and rows go while these are tokenized and written.
                batches.close()
            yield read.pop()


def _bytes_per_row(parquet: pq.ParquetFile, group: int) -> float:
    """About how many bytes a row of a row group takes in memory.

    The footer knows the encoded size. That of a dictionary says little about a column that repeats long texts, so a few
    rows of such columns are looked at, one at a time: each may be as large as the dictionary.
    """
    metadata = parquet.metadata.row_group(group)
    rows = max(1, metadata.num_rows)
    chunks = [metadata.column(index) for index in range(metadata.num_columns)]
    # By name: a column a.b and the field b of a struct a are read together.
    sizes: dict[str, float] = {}
    for chunk in chunks:
        sizes[chunk.path_in_schema] = sizes.get(chunk.path_in_schema, 0) + chunk.total_uncompressed_size / rows
    for name in {chunk.path_in_schema for chunk in chunks if chunk.has_dictionary_page}:
        sizes[name] = max(sizes[name], _sampled_bytes_per_row(parquet, group, name))
    return sum(sizes.values())


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


@dataclass(frozen=True)
class Origin:
    """What an output was made from: two outputs of one origin are the same file, byte for byte.

    `size` (bytes) and `footer` identify the input, `automaton` is the fingerprint of the tokenizer.
    """

    size: int
    footer: str
    automaton: str
    settings: FileSettings

    def to_json(self) -> bytes:
        """What the footer of the output says under `ORIGIN_KEY`."""
        # Only what decides about the rows and their bytes: not whether an output that exists is kept.
        names = sorted(set(FileSettings.__dataclass_fields__) - {"existing"})
        settings = {name: getattr(self.settings, name) for name in names}
        content = {"version": ORIGIN_VERSION, "input": {"size": self.size, "footer": self.footer}}
        content |= {"automaton": self.automaton, "settings": settings}
        return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def read_origin(file: pa.NativeFile) -> tuple[bytes | None, int]:
    """What an output says about its origin (None: it was not written here, or is no Parquet file), and its rows."""
    try:
        metadata = pq.read_metadata(file)
    except (pa.ArrowException, OSError):
        return None, 0
    return (metadata.metadata or {}).get(ORIGIN_KEY), metadata.num_rows


class TokenWriter:
    """Writes tables of one layout as Parquet; row groups are closed by size, so equal input gives equal bytes.

    A context manager: what is left, and the footer, are written at its end.
    """

    def __init__(self, file: Any, schema: pa.Schema, settings: FileSettings, origin: bytes) -> None:
        """`file` is open for writing, and stays open. Raises ConfigError where this pyarrow lacks an encoding."""
        self._limit = max(1, settings.row_group_mb) << 20
        self._pending: list[pa.Table] = []
        self._size = 0
        self._schema = schema.with_metadata({**(schema.metadata or {}), ORIGIN_KEY: origin})
        ids, others = _leaf_columns(schema)
        dictionary: Any = [*others, ids] if settings.encoding == "dictionary" else others
        compression: Any = settings.compression
        split = settings.encoding == "byte_stream_split"
        try:
            self._writer = pq.ParquetWriter(
                file,
                self._schema,
                compression=compression,
                use_dictionary=dictionary,
                column_encoding={ids: "BYTE_STREAM_SPLIT"} if split else None,
                # The smallest and largest token id of a page help no query.
                write_statistics=others,
            )
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the file, not of pyarrow
            raise ConfigError(
                f"pyarrow {pa.__version__} cannot write {settings.encoding} with {settings.compression}"
                f" ({one_line(error)}); choose another encoding or compression."
            ) from error

    def write(self, table: pa.Table) -> None:
        """Add rows. `table` has the schema given at the start."""
        self._pending.append(table)
        self._size += table.nbytes
        if self._size >= self._limit:
            self._flush()

    def __enter__(self) -> TokenWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        try:
            if error is None:
                self._flush()
        finally:
            # Also after a failure: otherwise pyarrow does it at some later time, when the file is closed.
            self._writer.close()

    def _flush(self) -> None:
        if self._pending:
            # One dictionary for the row group: the writer leaves dictionary encoding when it meets a second one.
            table = pa.concat_tables(self._pending).replace_schema_metadata(self._schema.metadata).unify_dictionaries()
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._pending, self._size = [], 0


def _leaf_columns(schema: pa.Schema) -> tuple[str, list[str]]:
    """The names of the leaf columns as Parquet has them: that of `input_ids` and all others."""
    sink = pa.BufferOutputStream()
    pq.ParquetWriter(sink, schema).close()
    columns = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    names = [columns.column(index).path for index in range(len(columns))]
    return names[-1], names[:-1]


def one_line(error: BaseException) -> str:
    """The text of an exception as part of a sentence."""
    return " ".join(str(error).split()).rstrip(".")
