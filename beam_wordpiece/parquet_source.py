"""A Parquet file -> rows of the output: each row a document, or consecutive rows the pieces of one. No Beam in here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from beam_wordpiece.arrow_text import import_texts
from beam_wordpiece.config import FileSettings
from beam_wordpiece.documents import DocumentEncoder, Pieces, numbers_within
from beam_wordpiece.errors import InputError, TextError
from beam_wordpiece.parquet import Layout, open_parquet, read_blocks
from beam_wordpiece.tokenizer import Counts, TextEncoder


class RowSource:
    """A file of which each row is a document. Raises InputError where it does not fit the settings."""

    def __init__(self, file: pa.NativeFile, settings: FileSettings, where: str, id_type: pa.DataType) -> None:
        self._parquet = open_parquet(file, where)
        self._settings = settings
        self._where = where
        self._layout = Layout(self._parquet.schema_arrow, settings, where, id_type)
        self._row_bytes = file.size() / max(1, self._parquet.metadata.num_rows)
        self.schema = self._layout.schema
        """The schema of the output."""

    def tables(self, tokenizer: TextEncoder) -> Iterator[tuple[pa.Table, Counts, float]]:
        """Rows of the output in order, what was counted, and the bytes of the input they stand for.

        Memory: a block of rows. Raises InputError.
        """
        before = 0
        for block in read_blocks(self._parquet, self._layout, self._where):
            ids, counts = self._layout.encode(block, tokenizer, before)
            made = [self._layout.output(block, ids)]
            # Writing a large row takes much memory, and its text is not needed any more.
            del block, ids
            before += counts.documents
            yield made.pop(), counts, self._row_bytes * counts.documents


class DocumentSource(RowSource):
    """A file in which consecutive rows with the same `document_column` are the pieces of one document.

    Each row whose document is null is a document of its own. Without a `chunk_column`, a document that goes on in
    another file, or comes again after others, is another one.
    """

    def __init__(self, file: pa.NativeFile, settings: FileSettings, where: str, id_type: pa.DataType) -> None:
        super().__init__(file, settings, where, id_type)
        schema = self._parquet.schema_arrow
        self._name = settings.document_column or ""
        self._require(schema.field(self._name), _is_comparable, "values that cannot be compared")
        self._numbers: _Numbers | None = None
        if settings.chunk_column is not None:
            self._require(schema.field(settings.chunk_column), pa.types.is_integer, "no whole numbers")
            self._numbers = _Numbers(self._name, settings.chunk_column, where)

    def _require(self, field: pa.Field[Any], fits: Any, fault: str) -> None:
        if not fits(field.type):
            raise InputError(f"{self._where}: the column {field.name!r} holds {field.type}, {fault}.")

    def tables(self, tokenizer: TextEncoder) -> Iterator[tuple[pa.Table, Counts, float]]:
        """As `RowSource.tables`; besides a block, held is what there is of a document whose row is not complete."""
        encoder = DocumentEncoder(tokenizer, self._settings, self._where, self._name)
        before = 0
        for table, begins, ends in self._whole_rows():
            if self._numbers is not None:
                self._numbers.check(table, begins, before)
            batches = table.to_batches()
            pieces = Pieces(self._layout.passed(batches), self._texts(batches), begins, ends)
            rows = table.num_rows
            del table, batches
            try:
                made = [encoder.encode(pieces, self.schema)]
            except TextError as error:
                raise self._layout.refused(pieces.columns, error, before) from error
            del pieces
            before += rows
            yield *made.pop(), self._row_bytes * rows
        if self._numbers is not None:
            self._numbers.refuse_repeats()

    def _whole_rows(self) -> Iterator[tuple[pa.Table, pa.Array[Any], pa.Array[Any]]]:
        """All rows in order, and whether a document begins and ends with them.

        The last row of a block is held back until the next block tells whether its document goes on.
        """
        held: list[pa.Table] = []
        new = pa.array([True])
        for block in read_blocks(self._parquet, self._layout, self._where):
            table = pa.concat_tables([*held, pa.Table.from_batches(block)])
            del block
            names = comparable(table.column(self._name))
            last = table.num_rows - 1
            held = [table.slice(last)]
            if last > 0:
                differs: Any = pc.not_equal(names.slice(1), names.slice(0, last))
                ends: Any = pc.fill_null(differs, True)
                begins = pa.concat_arrays([new, ends.slice(0, last - 1)])
                new = ends.slice(last - 1)
                ready = [table.slice(0, last)]
                del table
                yield ready.pop(), begins, ends
        if held:
            yield held.pop(), new, pa.array([True])

    def _texts(self, batches: Sequence[pa.RecordBatch]) -> pa.ChunkedArray[Any]:
        columns = (self._layout.texts(batch) for batch in batches)
        return pa.chunked_array([array for column in columns for array in import_texts(column).of_rows()])


class _Numbers:
    """Checks that the pieces of documents are numbered 0, 1, 2, ... and that no document is in two places."""

    def __init__(self, document: str, chunk: str, where: str) -> None:
        self._document, self._chunk, self._where = document, chunk, where
        # Rows of the open document that were checked; and of all documents the name and first row.
        self._open = 0
        self._names: list[pa.Array[Any]] = []
        self._rows: list[pa.Array[Any]] = []

    def check(self, table: pa.Table, begins: pa.Array[Any], before: int) -> None:
        """Raise InputError where a number is wrong. `before`: rows of the file that came earlier."""
        right = numbers_within(begins, self._open)
        found: Any = table.column(self._chunk)
        differs: Any = pc.not_equal(found.cast(pa.int64(), safe=False), right)
        wrong: Any = pc.fill_null(differs, True)
        row = pc.index(wrong, True).as_py()
        if row >= 0:
            document = table.column(self._document)[row].as_py()
            fault = _fault(found[row].as_py(), right[row].as_py())
            raise InputError(
                f"{self._where}, row {before + row}: {self._chunk} of the document {document!r} {fault}; its rows have"
                " to be all there, one after the other in one file, and numbered 0, 1, 2, ...; TokenizeChunks takes"
                " them from several files and in any order."
            )
        self._open = right[-1].as_py() + 1
        names = comparable(table.column(self._document))
        named: Any = pc.and_(begins, names.is_valid())
        self._names.append(names.filter(named))
        self._rows.append(pc.add(pc.indices_nonzero(named).cast(pa.int64()), before))

    def refuse_repeats(self) -> None:
        """Raise InputError where a document of the file came again. All names are looked at in one go, at the end."""
        if not self._names:
            return
        names = pa.chunked_array(self._names)
        distinct = names.unique()
        if len(distinct) == len(names):
            return
        first: Any = pc.index_in(names, value_set=distinct).cast(pa.int64())
        # Up to the first name that is there already, names and distinct names are the same.
        place = pc.index(pc.not_equal(first, numbers_within(pa.array([False] * len(names)), 0)), True).as_py()
        raise InputError(
            f"{self._where}, row {pa.chunked_array(self._rows)[place].as_py()}: the document {names[place].as_py()!r}"
            " begins again, after other documents; put its rows one after the other, or give its second half a name"
            " of its own."
        )


def _fault(found: int | None, right: int) -> str:
    if found is None:
        return f"is null where {right} has to be"
    if right == 0:
        return f"begins with {found}, as where the rest is in another file or earlier in this one"
    if found == right - 1:
        return f"is {found} a second time"
    return f"is {found} where {right} has to be"


def comparable(column: pa.ChunkedArray[Any]) -> Any:
    """The values of a column as one array of a type that Arrow compares."""
    array: Any = pa.concat_arrays([_plain(chunk) for chunk in column.chunks])
    return array


def _plain(array: Any) -> Any:
    if isinstance(array, pa.ExtensionArray):
        return _plain(array.storage)
    if pa.types.is_dictionary(array.type):
        return _plain(array.dictionary_decode())
    # Views are not compared by all functions; text of other types is only to have the same type in a long file.
    kinds: dict[str, Any] = {"string": pa.large_string(), "string_view": pa.large_string()}
    kinds |= {"binary": pa.large_binary(), "binary_view": pa.large_binary(), "null": pa.large_string()}
    return array.cast(kinds.get(str(array.type), array.type))


def _is_comparable(kind: pa.DataType) -> bool:
    empty = _plain(pa.array([], kind))
    try:
        pc.not_equal(empty, empty)
        empty.unique()
    except pa.ArrowNotImplementedError:
        return False
    return True
