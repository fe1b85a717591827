"""The PTransforms that find keywords: in strings, and in tables.

Each takes the path of a dictionary (`Dictionary.save`, `beam-wordpiece dictionary`), which workers open and map
themselves; a remote one is first copied once per host. Counters, in the namespace `beam_wordpiece`: documents, nulls,
bytes (of text), occurrences, invalid (documents that are not valid UTF-8).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.typehints import with_input_types, with_output_types

from beam_wordpiece.config import FileSettings
from beam_wordpiece.dictionary import Dictionary
from beam_wordpiece.dictionary_ids import OCCURRENCE
from beam_wordpiece.errors import KEYWORDS_BY, AutomatonError, InputError, TextError
from beam_wordpiece.parquet import Layout
from beam_wordpiece.tokenizer import Counts, TextEncoder
from beam_wordpiece.transforms import BatchedStrings, TokenizerDoFn, local_or_remote, shown_value

KEYWORDS_COLUMN = "keywords"


@with_input_types(str)
@with_output_types(list[tuple[int, int, str]])
class FindKeywords(beam.PTransform[Any, Any]):
    """Strings to the keys in them: PCollection[str] -> PCollection[list[tuple[int, int, str]]].

    For each string what `Dictionary.find` gives, with the same `overlapping`: first character, end and id of each
    occurrence; with the windows and times of the strings, which are gathered within a bundle. `dictionary`: the path of
    its file. `errors`: as a `Dictionary` has it; a str is invalid where it holds a lone surrogate. Raises
    AutomatonError where the file is the automaton of a vocabulary, ConfigError where the dictionary was made with
    backward=True; both when the transform is made, where the file is local.
    """

    def __init__(
        self, dictionary: str | os.PathLike[str], *, overlapping: bool = False, errors: str = "replace"
    ) -> None:
        super().__init__()
        self._dictionary, self._overlapping = _checked(dictionary), bool(overlapping)
        self._settings = FileSettings(errors=errors)

    def expand(self, pcoll: Any) -> Any:
        do_fn = _FindInStrings(self._dictionary, self._settings, self._overlapping)
        return pcoll | "Find" >> beam.ParDo(do_fn).with_output_types(list[tuple[int, int, str]])

    def display_data(self) -> dict[str, Any]:
        return _shown(self._dictionary, self._overlapping, self._settings, ("errors",))


@with_input_types(pa.Table)
@with_output_types(pa.Table)
class FindKeywordsInTables(beam.PTransform[Any, Any]):
    """Arrow tables to Arrow tables: PCollection[pa.Table] -> PCollection[pa.Table], row by row in the same order.

    The column `text_column` (a field of a struct: a.b) gives way to `keywords`, what `Dictionary.find_arrow` gives:
    list<struct<start: int64, end: int64, id: string>>, null for a null text; the others are passed through. `columns`:
    only these of them. `keep_text`: the text too. `dictionary`, `overlapping`, `errors`: as for `FindKeywords`. A table
    without the column, or text that is refused, raises InputError.
    """

    def __init__(
        self,
        dictionary: str | os.PathLike[str],
        *,
        overlapping: bool = False,
        text_column: str = "text",
        columns: Sequence[str] | None = None,
        keep_text: bool = False,
        errors: str = "replace",
    ) -> None:
        super().__init__()
        self._dictionary, self._overlapping = _checked(dictionary), bool(overlapping)
        self._settings = FileSettings(
            text_column=text_column,
            columns=None if columns is None else tuple(columns),
            keep_text=keep_text,
            errors=errors,
        )

    def expand(self, pcoll: Any) -> Any:
        do_fn = _FindInTable(self._dictionary, self._settings, self._overlapping)
        return pcoll | "Find" >> beam.ParDo(do_fn).with_output_types(pa.Table)

    def display_data(self) -> dict[str, Any]:
        names = ("text_column", "columns", "keep_text", "errors")
        return _shown(self._dictionary, self._overlapping, self._settings, names)


def _checked(dictionary: str | os.PathLike[str]) -> str:
    """The path of a dictionary in which keys are found. Elsewhere than here, the workers say so if it is none."""
    path = local_or_remote(dictionary, "dictionary")
    if os.path.isfile(path):
        with contextlib.suppress(OSError):
            Dictionary.open(path).require_forward()
    return path


def _shown(dictionary: str, overlapping: bool, settings: FileSettings, names: Sequence[str]) -> dict[str, Any]:
    shown = {name: shown_value(getattr(settings, name)) for name in names}
    return {"dictionary": dictionary, "overlapping": overlapping, **shown}


class _Finder(TokenizerDoFn):
    """Opens the dictionary, and finds keys in Arrow arrays."""

    counters: Mapping[str, str] = {
        **{name: name for name in ("documents", "nulls", "bytes", "invalid")},
        "tokens": "occurrences",
    }

    def __init__(self, dictionary: str, settings: FileSettings, overlapping: bool) -> None:
        super().__init__(dictionary, settings)
        self._overlapping = overlapping

    def _open(self) -> TextEncoder:
        opened = super()._open()
        if not isinstance(opened, Dictionary):
            raise AutomatonError(f"{self._automaton} is the automaton of a vocabulary, and {KEYWORDS_BY}.")
        opened.require_forward()
        return opened

    def _run(self, texts: Any) -> tuple[Any, Counts]:
        dictionary: Any = self._tokenizer
        found: tuple[Any, Counts] = dictionary.find_arrow_counted(texts, overlapping=self._overlapping)
        return found


class _FindInStrings(_Finder, BatchedStrings):
    def _value(self, row: Any) -> list[tuple[int, int, str]]:
        return [(found["start"], found["end"], found["id"]) for found in row]


class _FindInTable(_Finder):
    def process(self, element: pa.Table) -> Iterator[pa.Table]:
        layout = Layout(element.schema, self._settings, "The table", OCCURRENCE, KEYWORDS_COLUMN)
        batches = element.to_batches() or [pa.RecordBatch.from_pylist([], element.schema)]
        texts: Any = [layout.texts(batch) for batch in batches]
        try:
            lists, counts = self._run(pa.chunked_array(texts))
        except TextError as error:
            raise layout.refused(pa.Table.from_batches(batches), error, 0) from error
        self._count(counts)
        if lists.type != pa.list_(OCCURRENCE):
            raise InputError(
                f"The table: {len(lists)} rows have 2**31 occurrences of keywords or more, or 2 GiB of their ids, "
                "which are too many for one column; split the table, or a text that is so long."
            )
        yield pa.Table.from_arrays([*layout.passed(batches).columns, lists], schema=layout.schema)
