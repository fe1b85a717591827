"""The PTransforms: files to files, tables to tables, strings to ids.

Each takes the path of an automaton (`beam-wordpiece compile` makes one), or of a dictionary (`Dictionary.save`) whose
ids are strings: list<string> then where list<int32> is said. Workers open and map it themselves, so that all processes
of a host share its pages; a remote path is first copied once per host.

Counters, in the namespace `beam_wordpiece`: documents, nulls, bytes (of text), tokens, unknowns, invalid (documents
that are not valid UTF-8); for files also files (written), files_skipped and files_failed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.coders import Coder
from apache_beam.coders.typecoders import registry
from apache_beam.metrics.metric import Metrics
from apache_beam.transforms.combiners import ToListCombineFn
from apache_beam.typehints import with_input_types, with_output_types
from apache_beam.utils.shared import Shared
from apache_beam.utils.windowed_value import WindowedValue

from beam_wordpiece.automaton import open_core
from beam_wordpiece.checks import is_automaton, path_of_automaton
from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import AutomatonError, InputError, TextError, WordPieceError
from beam_wordpiece.files import write_whole
from beam_wordpiece.io import (
    AUTOMATON_SUFFIX,
    FileResult,
    FileTask,
    failed_result,
    is_dictionary,
    open_tokenizer,
    tokenize_file,
)
from beam_wordpiece.parquet import Layout
from beam_wordpiece.storage import fault_of, is_remote, version_of
from beam_wordpiece.tokenizer import SURROGATE, Counts, TextEncoder

NAMESPACE = "beam_wordpiece"
# Characters of text that `Tokenize` gathers for one call of the kernel, and how many of them a string counts for at
# least: it takes memory also where it is empty.
BATCH_CHARACTERS = 1 << 20
STRING_CHARACTERS = 64


class ArrowTableCoder(Coder):
    """Tables as Arrow IPC streams: of a slice, only its own rows. Registered for `pa.Table` when this is imported."""

    def encode(self, value: pa.Table) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, value.schema) as writer:
            writer.write_table(value)
        return sink.getvalue().to_pybytes()

    def decode(self, encoded: bytes) -> pa.Table:
        return pa.ipc.open_stream(encoded).read_all()

    def estimate_size(self, value: pa.Table) -> int:
        """Bytes, without encoding: Beam asks this of every element between fused steps."""
        return value.nbytes

    def is_deterministic(self) -> bool:
        # Equal tables may be chunked differently.
        return False

    def to_type_hint(self) -> type[pa.Table]:
        return pa.Table

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


registry.register_coder(pa.Table, ArrowTableCoder)


class Progress:
    """What the DoFns of this process have done so far, for a progress bar in the same process.

    `documents`: rows tokenized. `bytes`: of the input files.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.documents = 0
        self.bytes = 0.0

    def add(self, documents: int, size: float) -> None:
        with self._lock:
            self.documents += documents
            self.bytes += size


PROGRESS = Progress()


@with_input_types(FileTask)
@with_output_types(FileResult)
class TokenizeFiles(beam.PTransform[Any, Any]):
    """Parquet or text files to Parquet files: PCollection[FileTask] -> PCollection[FileResult].

    `plan_tasks(patterns, output)` makes the tasks. `automaton`: path of an automaton. `settings`: which columns, and
    how they are written (`FileSettings`). Each output appears whole or not at all, and is left alone if it is
    there already and the same (`settings.existing`).

    A file that cannot be tokenized keeps no other from being done. When all were tried, the job fails with an
    InputError that names each of them; with `raise_errors=False` it is for the caller to look at `FileResult.error`.
    `spread=False`: leave the tasks on the worker that has them, as where there is only one.
    """

    def __init__(
        self,
        automaton: str | os.PathLike[str],
        settings: FileSettings | None = None,
        *,
        raise_errors: bool = True,
        spread: bool = True,
    ) -> None:
        super().__init__()
        self._spread = spread
        self._automaton = local_or_remote(automaton)
        self._settings = settings or FileSettings()
        self._raise_errors = raise_errors

    def expand(self, pcoll: Any) -> Any:
        do_fn = _TokenizeFile(self._automaton, self._settings)
        # Paths are spread over the workers; the tables never leave the worker that reads them.
        tasks = pcoll | "Spread" >> beam.Reshuffle() if self._spread else pcoll
        results = tasks | "Tokenize" >> beam.ParDo(do_fn)
        if self._raise_errors:
            _ = (
                results
                | "Failed" >> beam.Filter(has_failed)
                | "Gather" >> beam.CombineGlobally(ToListCombineFn()).without_defaults()
                | "Raise" >> beam.Map(_raise_failed)
            )
        return results

    def display_data(self) -> dict[str, Any]:
        shown = {f.name: getattr(self._settings, f.name) for f in dataclasses.fields(FileSettings)}
        return {"automaton": self._automaton, **{name: shown_value(value) for name, value in shown.items()}}


@with_input_types(pa.Table)
@with_output_types(pa.Table)
class TokenizeTables(beam.PTransform[Any, Any]):
    """Arrow tables to Arrow tables: PCollection[pa.Table] -> PCollection[pa.Table], row by row in the same order.

    The column `text_column` (a field of a struct: a.b) gives way to `input_ids`, list<int32>, null for a null text; the
    others are passed through. `columns`: only these of them. `keep_text`: the text too. `add_special_tokens`, `errors`:
    as `Tokenizer` has them. A table without the column, or text that is refused, raises InputError.
    """

    def __init__(
        self,
        automaton: str | os.PathLike[str],
        *,
        text_column: str = "text",
        columns: Sequence[str] | None = None,
        keep_text: bool = False,
        add_special_tokens: bool = True,
        errors: str = "replace",
    ) -> None:
        super().__init__()
        self._automaton = local_or_remote(automaton)
        self._settings = FileSettings(
            text_column=text_column,
            columns=None if columns is None else tuple(columns),
            keep_text=keep_text,
            add_special_tokens=add_special_tokens,
            errors=errors,
        )

    def expand(self, pcoll: Any) -> Any:
        do_fn = _TokenizeTable(self._automaton, self._settings)
        return pcoll | "Tokenize" >> beam.ParDo(do_fn).with_output_types(pa.Table)

    def display_data(self) -> dict[str, Any]:
        names = ("text_column", "columns", "keep_text", "add_special_tokens", "errors")
        return {"automaton": self._automaton, **{name: shown_value(getattr(self._settings, name)) for name in names}}


@with_input_types(str)
class Tokenize(beam.PTransform[Any, Any]):
    """Strings to token ids: PCollection[str] -> PCollection[list[int]], with the windows and times of the strings.

    With a dictionary it is PCollection[list[str]]; its file has to be there when the pipeline is built.
    Strings are gathered within a bundle, so that many go through the kernel in one call. `add_special_tokens` and
    `errors`: as `Tokenizer` has them; a str is invalid where it holds a lone surrogate.
    """

    def __init__(
        self, automaton: str | os.PathLike[str], *, add_special_tokens: bool = True, errors: str = "replace"
    ) -> None:
        super().__init__()
        self._automaton = local_or_remote(automaton)
        self._settings = FileSettings(add_special_tokens=add_special_tokens, errors=errors)

    def expand(self, pcoll: Any) -> Any:
        do_fn = _TokenizeStrings(self._automaton, self._settings)
        id_type = str if is_dictionary(self._automaton) else int
        return pcoll | "Tokenize" >> beam.ParDo(do_fn).with_output_types(list[id_type])  # type: ignore[valid-type]

    def display_data(self) -> dict[str, Any]:
        names = ("add_special_tokens", "errors")
        return {"automaton": self._automaton, **{name: shown_value(getattr(self._settings, name)) for name in names}}


def local_or_remote(automaton: str | os.PathLike[str], what: str = "automaton") -> str:
    """The path of an automaton, or `what` it is. Raises TypeError for what is no path, AutomatonError for a file here
    that is none, and for a relative path without a file.

    An absolute path without a file may be one that the workers have, or that is there before they begin.
    """
    path = path_of_automaton(automaton, what)
    if not is_remote(path):
        if not os.path.isabs(path) and not os.path.exists(path):
            raise AutomatonError(f"{path} does not exist; give the path of a {AUTOMATON_SUFFIX} that was compiled.")
        # What cannot be read here, the workers say.
        with contextlib.suppress(PermissionError):
            if os.path.exists(path) and not is_automaton(Path(path)):
                open_core(path)
    return path


class TokenizerDoFn(beam.DoFn):
    """Opens the tokenizer in `setup`, one for all threads of a process, and counts.

    `counters`: what the counters are called, by the fields of `Counts`.
    """

    counters: Mapping[str, str] = {name: name for name in Counts.__dataclass_fields__}

    def __init__(self, automaton: str, settings: FileSettings) -> None:
        self._automaton = automaton if is_remote(automaton) else os.path.abspath(automaton)
        self._settings = settings
        self._shared = Shared()
        self._counters = {field: Metrics.counter(NAMESPACE, name) for field, name in self.counters.items()}

    def setup(self) -> None:
        try:
            tag = str(version_of(self._automaton))
            self._tokenizer: TextEncoder = self._shared.acquire(self._open, tag=tag)
        except OSError as error:
            fault = fault_of(error, self._automaton)
            raise AutomatonError(f"{self._automaton} cannot be opened on a worker: {fault}.") from error

    def _open(self) -> TextEncoder:
        return open_tokenizer(self._automaton, self._settings.add_special_tokens, self._settings.errors)

    def _count(self, counts: Counts) -> None:
        for field, counter in self._counters.items():
            counter.inc(getattr(counts, field))


class _TokenizeFile(TokenizerDoFn):
    def __init__(self, automaton: str, settings: FileSettings) -> None:
        super().__init__(automaton, settings)
        self._files = {name: Metrics.counter(NAMESPACE, name) for name in ("files", "files_skipped", "files_failed")}

    def process(self, element: FileTask) -> Iterator[FileResult]:
        try:
            result = tokenize_file(element, self._tokenizer, self._settings, self._report)
        except WordPieceError as error:
            result = failed_result(element, str(error))
        except (pa.ArrowException, OSError) as error:
            fault = fault_of(error, element.output)
            result = failed_result(element, f"{element.input} cannot be tokenized to {element.output}: {fault}.")
        outcome = "files_failed" if result.error else "files_skipped" if result.skipped else "files"
        self._files[outcome].inc()
        yield result

    def _report(self, counts: Counts, size: float) -> None:
        self._count(counts)
        PROGRESS.add(counts.documents, size)


class _TokenizeTable(TokenizerDoFn):
    def process(self, element: pa.Table) -> Iterator[pa.Table]:
        layout = Layout(element.schema, self._settings, "The table", self._tokenizer.id_type)
        batches = element.to_batches() or [pa.RecordBatch.from_pylist([], element.schema)]
        ids, counts = layout.encode(batches, self._tokenizer, 0)
        self._count(counts)
        yield layout.output(batches, ids)


class BatchedStrings(TokenizerDoFn):
    """Gathers strings within a bundle, so that many go through the kernel in one call, and gives a value for each."""

    def start_bundle(self) -> None:
        self._waiting: list[WindowedValue] = []
        self._characters = 0

    def process(
        self, element: str, timestamp: Any = beam.DoFn.TimestampParam, window: Any = beam.DoFn.WindowParam
    ) -> Iterator[WindowedValue]:
        self._waiting.append(WindowedValue(element, timestamp, (window,)))
        self._characters += len(element) + STRING_CHARACTERS
        if self._characters >= BATCH_CHARACTERS:
            yield from self._flush()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._waiting:
            yield from self._flush()

    def _flush(self) -> Iterator[WindowedValue]:
        waiting, self._waiting, self._characters = self._waiting, [], 0
        lists, counts = self._encode([item.value for item in waiting])
        self._count(counts)
        # One list at a time: all of a batch as Python objects would be large.
        for item, row in zip(waiting, lists, strict=True):
            yield item.with_value(self._value(row.as_py()))

    def _run(self, texts: Any) -> tuple[Any, Counts]:
        """A list for each text of an Arrow array."""
        raise NotImplementedError

    def _value(self, row: Any) -> Any:
        """What is given of such a list."""
        return row

    def _encode(self, texts: list[str]) -> tuple[Any, Counts]:
        repaired = 0
        try:
            array = pa.array(texts, pa.string())
        except UnicodeEncodeError as error:
            if self._settings.errors == "error":
                row, text = next((row, text) for row, text in enumerate(texts) if SURROGATE.search(text))
                raise TextError(
                    f"The text {text[:40]!r} holds a lone surrogate, which UTF-8 cannot say.", row
                ) from error
            clean = [SURROGATE.sub("\ufffd", text) for text in texts]
            repaired = sum(a != b for a, b in zip(texts, clean, strict=True))
            array = pa.array(clean, pa.string())
        lists, counts = self._run(array)
        return lists, counts + Counts(invalid=repaired)


class _TokenizeStrings(BatchedStrings):
    def _run(self, texts: Any) -> tuple[Any, Counts]:
        batch, counts = self._tokenizer.encode_arrow_counted(texts)
        return batch.column("input_ids"), counts


def has_failed(result: FileResult) -> bool:
    return result.error != ""


def write_error(result: FileResult, folder: str) -> None:
    """Write the error, if there is one, to a file in a folder that all workers and whoever runs the pipeline reach."""
    if has_failed(result):
        with write_whole(os.path.join(folder, uuid.uuid4().hex)) as file:
            file.write(os.fsencode(result.error))


def read_errors(folder: str) -> InputError | None:
    """One error out of those that `write_error` wrote to the folder; None where there are none."""
    # A file that was tried twice failed twice.
    sentences = {os.fsdecode(path.read_bytes()) for path in Path(folder).iterdir()}
    return _error_of(sorted(sentences)) if sentences else None


def _raise_failed(failed: list[FileResult]) -> None:
    raise _error_of(sorted(result.error for result in failed))


def _error_of(sentences: list[str]) -> InputError:
    if len(sentences) == 1:
        return InputError(sentences[0])
    return InputError("\n  ".join([f"{len(sentences)} files could not be tokenized:", *sentences]))


def shown_value(value: Any) -> Any:
    """A value as display data can hold it."""
    if isinstance(value, tuple):
        return ", ".join(value)
    return "null" if value is None else value
