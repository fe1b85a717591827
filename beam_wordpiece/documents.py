"""Documents in consecutive rows, a piece of the text in each, cut anywhere -> the ids of whole documents. No Beam here.

`parquet_source.py` and `text_source.py` find the pieces; what becomes of them is the same for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import InputError
from beam_wordpiece.parquet import OUTPUT_COLUMN, id_lists
from beam_wordpiece.stream import Stream
from beam_wordpiece.tokenizer import Counts, TextEncoder


class Pieces(NamedTuple):
    """Consecutive rows of a file, at least one, each with a piece of a document.

    `columns`: what goes on into the output beside the ids. `texts`: strings or bytes, null where a row adds nothing.
    `begins` and `ends`: boolean, whether a document begins with the row, and whether it ends with it.
    """

    columns: pa.Table
    texts: pa.ChunkedArray[Any]
    begins: pa.Array[Any]
    ends: pa.Array[Any]


class DocumentEncoder:
    """The documents of one file, in order: pieces -> rows of the output, as `settings.rows` asks for them.

    `where` names the file in messages, `name` is the column that says which document a row belongs to, and the columns
    `joined` are put together, beside the ids, where a row is a whole document; of the others it has the first value.
    """

    def __init__(
        self, tokenizer: TextEncoder, settings: FileSettings, where: str, name: str, joined: Sequence[str] = ()
    ) -> None:
        self._stream = Stream(tokenizer)
        self._where = where
        whole = settings.rows == "documents"
        limit = settings.max_document_mb
        self._joiner = _Joiner(where, name, (*joined, OUTPUT_COLUMN), limit) if whole else None

    def encode(self, pieces: Pieces, schema: pa.Schema) -> tuple[pa.Table, Counts]:
        """The rows of the output, which has the `schema`, that are complete with these pieces.

        A row for a chunk has the ids that were decided with it. A row without ids is null where its text is null; that
        of a document where all its text is. Raises InputError where a document is too long for one row, and TextError,
        whose row is one of `pieces`, for text that is not UTF-8 and refused.
        """
        batch, counts = self._stream.feed_arrow_counted(pieces.texts, pieces.ends)
        ids = _nothing_as_null(id_lists(batch, self._where), pieces.texts)
        table = pieces.columns.append_column(schema.field(OUTPUT_COLUMN), ids.cast(schema.field(OUTPUT_COLUMN).type))
        if self._joiner is not None:
            table = self._joiner.add(table, _sizes(pieces.texts), pieces.begins, pieces.ends)
        return table.replace_schema_metadata(schema.metadata), counts


class _Joiner:
    """Rows of pieces -> rows of documents. Holds what there is of the open document, one row for each call."""

    def __init__(self, where: str, name: str, joined: Sequence[str], limit: int) -> None:
        self._where, self._name, self._joined, self._limit = where, name, joined, limit
        self._open: list[pa.Table] = []
        self._size = 0

    def add(self, table: pa.Table, sizes: pa.Array[Any], begins: pa.Array[Any], ends: pa.Array[Any]) -> pa.Table:
        """The documents that end in these rows. `sizes`: bytes of text of each row."""
        goes_on, is_ended = not begins[0].as_py(), ends[-1].as_py()
        if goes_on:
            begins = pa.concat_arrays([pa.array([True]), begins.slice(1)])
        parts, bounds = self._joined_rows(table, begins)
        self._refuse_long(parts, _between(_running(sizes), bounds), goes_on, is_ended)
        done = []
        if goes_on:
            self._open.append(parts.slice(0, 1))
            parts = parts.slice(1)
            if parts.num_rows or is_ended:
                done.append(self._finish())
        if parts.num_rows and not is_ended:
            self._open.append(parts.slice(parts.num_rows - 1))
            parts = parts.slice(0, parts.num_rows - 1)
        return pa.concat_tables([*done, parts])

    def _finish(self) -> pa.Table:
        parts, self._open = pa.concat_tables(self._open), []
        return self._joined_rows(parts, pa.array([True] + [False] * (parts.num_rows - 1)))[0]

    def _joined_rows(self, table: pa.Table, begins: pa.Array[Any]) -> tuple[pa.Table, pa.Array[Any]]:
        """A row for each stretch of rows that `begins` starts, and the bounds of the stretches."""
        bounds = pa.concat_arrays([pc.indices_nonzero(begins).cast(pa.int64()), pa.array([table.num_rows])])
        rows = table.filter(begins)
        for name in self._joined:
            column = join_neighbours(table.column(name).combine_chunks(), bounds)
            rows = rows.set_column(rows.schema.get_field_index(name), rows.schema.field(name), column)
        return rows, bounds

    def _refuse_long(self, parts: pa.Table, sizes: pa.Array[Any], goes_on: bool, is_ended: bool) -> None:
        if goes_on:
            sizes = pa.concat_arrays([pa.array([self._size + sizes[0].as_py()]), sizes.slice(1)])
        self._size = 0 if is_ended else sizes[-1].as_py()
        place = pc.index(pc.greater(sizes, pa.scalar(self._limit << 20)), True).as_py()
        if place >= 0:
            document = parts.column(self._name)[place].as_py()
            raise InputError(
                f"{self._where}: the document {document!r} has more than {self._limit} MB of text, which is too much"
                " for one row; set `rows` to chunks, or a larger `max_document_mb`."
            )


def join_neighbours(array: Any, bounds: pa.Array[Any]) -> Any:
    """Neighbours in an array of lists, or of strings without nulls, put together: from each bound up to the next.

    Null where all of them are. No value is copied: what goes are the offsets between them.
    """
    if pa.types.is_list(array.type):
        empty: Any = pc.equal(_between(_running(array.is_valid()), bounds), pa.scalar(0))
        return pa.ListArray.from_arrays(array.offsets.take(bounds), array.values, type=array.type, mask=empty)
    _, offsets, data = array.buffers()
    all_offsets: Any = pa.Array.from_buffers(pa.int32(), len(array) + 1, [None, offsets], offset=array.offset)
    kept = all_offsets.take(bounds).buffers()[1]
    return pa.Array.from_buffers(array.type, len(bounds) - 1, [None, kept, data])


def numbers_within(begins: pa.Array[Any], before: int) -> pa.Array[Any]:
    """For each row the number that it has within its document, from 0.

    `before`: how many rows of the document that the first row belongs to came earlier.
    """
    rows: Any = pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), len(begins)))
    first: Any = pc.if_else(begins, rows, pa.scalar(None, pa.int64()))
    numbers: pa.Array[Any] = pc.subtract(rows, pc.fill_null(pc.fill_null_forward(first), 1 - before))
    return numbers


def _nothing_as_null(ids: Any, texts: pa.ChunkedArray[Any]) -> Any:
    """The lists, null where the text is null and no ids were decided with it."""
    if texts.null_count == 0:
        return ids
    lengths: Any = pc.fill_null(pc.list_value_length(ids), 0)
    empty: Any = pc.equal(lengths, pa.scalar(0))
    nothing: Any = pc.and_(empty, texts.is_null().combine_chunks())
    return pa.ListArray.from_arrays(ids.offsets, ids.values, type=ids.type, mask=nothing)


def _sizes(texts: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    sizes: Any = pc.fill_null(pc.binary_length(texts), 0).cast(pa.int64())
    combined: pa.Array[Any] = sizes.combine_chunks()
    return combined


def _running(numbers: pa.Array[Any]) -> pa.Array[Any]:
    """The sums of all that come before each place, the end included."""
    return pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(numbers.cast(pa.int64()))])


def _between(sums: Any, bounds: pa.Array[Any]) -> Any:
    """The sum of the numbers from each bound to the next."""
    at = sums.take(bounds)
    return pc.subtract(at.slice(1), at.slice(0, len(at) - 1))
