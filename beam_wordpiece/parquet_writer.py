"""How an output is written: the encodings, the compression, the statistics and the row groups of a Parquet file.

What is chosen here was measured with `benchmarks/writing.py` over 23.6 million ids of English books; the README has the
figures. In short: with BYTE_STREAM_SPLIT the upper bytes of the ids, which are nearly all equal, become runs that cost
zstd nothing, and it is both the smallest and nearly the quickest. Levels of zstd above 1 take longer and save nothing.
Below 1 it stops coding bytes by their frequency, and is no smaller than lz4. Pages of less than 512 KB take up to an
eighth more bytes, larger ones save nothing; nor do version 2 data pages or another size of the row groups.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import ConfigError
from beam_wordpiece.parquet import ORIGIN_KEY, one_line

# What pyarrow would take by itself today. Said, because equal settings have to give equal bytes, and resuming relies on
# it: raise `parquet.ORIGIN_VERSION` with a change.
ZSTD_LEVEL = 1
PAGE_BYTES = 1 << 20
PAGE_VERSION: Final = "1.0"
# Values that go through the encoder at once. pyarrow's own 1,024 leaves a tenth of the time in calls.
VALUES_AT_ONCE = 16 << 10


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
        level = ZSTD_LEVEL if compression == "zstd" else None
        try:
            self._writer = pq.ParquetWriter(
                file,
                self._schema,
                compression=compression,
                compression_level=level,
                data_page_size=PAGE_BYTES,
                data_page_version=PAGE_VERSION,
                write_batch_size=VALUES_AT_ONCE,
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
