"""One Parquet file out: its encodings, compression, statistics and row groups, and what it says it was made from.

What is chosen here was measured with `benchmarks/writing.py` over 23.6 million ids of English books; the README has the
figures. In short: BYTE_STREAM_SPLIT puts the upper bytes of the ids beside each other, nearly all of them 0, which cost
zstd nothing; it is the smallest for prose and nearly the quickest. Levels of zstd above 1 take longer and save nothing.
Below 1 it stops coding bytes by their frequency, and is no smaller than lz4. Pages of less than 512 KB take up to an
eighth more bytes. Larger ones, version 2 data pages, row groups of another size, ids that cannot be null, and more
values at once (`write_batch_size`) save neither time nor bytes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import ConfigError
from beam_wordpiece.parquet import one_line

# The key, in the footer of an output, of what it was made from.
ORIGIN_KEY = b"beam_wordpiece"
# Raised when the same input and settings give other bytes than before, so that a rerun writes them again.
ORIGIN_VERSION = 2

# Settings that decide nothing about the rows and their bytes, but what is kept or refused.
_UNDECIDING = ("existing", "format", "max_document_mb")
# Settings that came later: an output names them only where they are not the default, as outputs from before do not.
_LATER = ("document_column", "chunk_column", "documents", "separator", "rows")

# What pyarrow would take by itself today: said, because equal settings have to give equal bytes.
ZSTD_LEVEL = 1
PAGE_BYTES = 1 << 20
PAGE_VERSION: Final = "1.0"


@dataclass(frozen=True)
class Origin:
    """What an output was made from: two outputs of one origin are the same file, byte for byte.

    `size` (bytes) and `footer` (the digest of `sources.input_digest`) identify the input, `automaton` is the
    fingerprint of the tokenizer.
    """

    size: int
    footer: str
    automaton: str
    settings: FileSettings

    def to_json(self) -> bytes:
        """What the footer of the output says under `ORIGIN_KEY`."""
        fields = FileSettings.__dataclass_fields__
        said = [name for name in fields if name not in _UNDECIDING]
        said = [name for name in said if name not in _LATER or getattr(self.settings, name) != fields[name].default]
        settings = {name: getattr(self.settings, name) for name in said}
        content = {"version": ORIGIN_VERSION, "input": {"size": self.size, "footer": self.footer}}
        content |= {"automaton": self.automaton, "settings": settings}
        content |= {"writer": {"zstd_level": ZSTD_LEVEL, "page_bytes": PAGE_BYTES, "page_version": PAGE_VERSION}}
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
        # The ids of a Dictionary are strings, of which a dictionary is what splitting bytes is for numbers.
        numbers = pa.types.is_integer(schema.field(len(schema) - 1).type.value_type)
        split = settings.encoding == "byte_stream_split" and numbers
        dictionary: Any = others if split or settings.encoding == "plain" else [*others, ids]
        compression: Any = settings.compression
        level = ZSTD_LEVEL if compression == "zstd" else None
        try:
            self._writer = pq.ParquetWriter(
                file,
                self._schema,
                compression=compression,
                compression_level=level,
                data_page_size=PAGE_BYTES,
                data_page_version=PAGE_VERSION,
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
        if table.num_rows == 0:
            return
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
