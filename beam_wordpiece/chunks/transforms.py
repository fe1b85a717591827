"""The PTransform of documents whose chunks are scattered: over files, out of order, duplicated, lost."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import DoOutputsTuple
from apache_beam.typehints import with_input_types

from beam_wordpiece.chunks.dofn import DEAD_LETTERS, TOKENIZED
from beam_wordpiece.chunks.elements import Chunk, Piece, TokenizedChunk, TokenizedDocument, split_chunk
from beam_wordpiece.chunks.faults import DeadLetter
from beam_wordpiece.chunks.groups import TokenizeGroups
from beam_wordpiece.chunks.settings import ChunkSettings
from beam_wordpiece.chunks.states import TokenizeStates
from beam_wordpiece.config import FileSettings
from beam_wordpiece.dictionary import open_tokenizer
from beam_wordpiece.errors import AutomatonError, ConfigError
from beam_wordpiece.stream import require_streams
from beam_wordpiece.transforms import local_or_remote, shown_value


class TwoOutputs(DoOutputsTuple):
    """The outputs of a ParDo. Beam would make a transform that is applied to them as one work on their description."""

    def __init__(self, outputs: DoOutputsTuple) -> None:
        vars(self).update(vars(outputs))

    def __or__(self, transform: Any) -> Any:
        raise TypeError(
            f"TokenizeChunks gives two PCollections, {TOKENIZED} and {DEAD_LETTERS}; apply {transform!r} to one of"
            f" them: result.{TOKENIZED}, or {TOKENIZED}, {DEAD_LETTERS} = chunks | TokenizeChunks(...)."
        )


@with_input_types(Chunk)
class TokenizeChunks(beam.PTransform[Any, Any]):
    """Chunks of documents, from anywhere and in any order, to the ids of the whole documents.

    PCollection[Chunk] -> two PCollections, `tokenized` and `dead_letters`, by name or in this order:
    `result.tokenized`, or `tokenized, dead_letters = chunks | TokenizeChunks(...)`; `result | ...` is a TypeError when
    the pipeline is built. `rows="documents"` gives a TokenizedDocument (document, input_ids) for each document.
    `rows="chunks"` gives a TokenizedChunk (document, number, input_ids) for each chunk, with the ids that were decided
    with it: put together in the order of their numbers, they are those of the document.

    A chunk that is there already, with the same bytes, is dropped and counted. A document with a chunk of the same
    number and other content (or another `last`), without a number, or without a last chunk is a DeadLetter that lists
    them, and has no row. With `on_gap="emit"` what is there is tokenized nevertheless, and the dead letter tells how
    many rows there are: the text between two gaps is a text of its own, with the template's special tokens, so that no
    word is made of what is left and right of a gap; a number in conflict is a gap too. Whatever the policy, a document
    has no row where a number is negative, a chunk comes after the last, there are more than `max_document_mb` MB (2**20
    bytes; a chunk counts for 256 bytes at least; by default 128 with rows of documents, which are held in memory, as in
    files, and 1024 with rows of chunks), or the text is not UTF-8 and `errors="error"`.

    `end="highest"` is for tables in which nobody knows what is the last chunk: a document without a chunk with `last`
    ends with the highest number that is there. That all of the end is there cannot be known then; numbers that are
    missing below it are gaps as ever. Unbounded input, and stateful=True, want marks: ConfigError.

    Bounded input is grouped by document, within the windows of the input, and rows have the time of the group. A worker
    keeps 8 MB of a document's text in memory and the rest in a temporary file (TMPDIR), and 256 bytes a chunk; with
    rows of documents it holds a document's ids. How much more the runner's grouping needs is up to the runner: the one
    that is embedded in Beam keeps everything in memory.

    Unbounded input is tokenized as it comes, in Beam's state by document and window; `stateful=True` does so with
    bounded input, False groups what is unbounded (which wants windows or triggers). Chunks that are early wait. What is
    missing is a gap when the watermark is `gap_timeout` seconds past the time of the document's newest chunk, at the
    end of the window, or when more than `max_early_mb` MB wait; so chunks need the times of events. After its end a
    document is remembered for another `gap_timeout`, or until its window is gone: chunks that come then are dropped and
    counted as late, whatever is in them; after that they begin a new document. What else differs from bounded input:

    - Rows of chunks that were given stay where the document dies later; `DeadLetter.rows` tells how many there are.
    - A document dies at once of what is not a gap, and then its dead letter lists no gaps: they might have been filled.
    - At a gap there is a second row for the chunk before it, with the ids that the gap decided.
    - With `on_gap="emit"`, of two contents the one that was tokenized first stays, and is no gap.
    - With rows of documents the ids of an open document are part of its state.

    `automaton`, `add_special_tokens`, `errors`: as for `Tokenize`. Counters, beside those of all transforms: chunks
    (tokenized), chunks_duplicate, chunks_conflict, chunks_late, documents_incomplete (emitted with gaps),
    documents_dead. Raises ConfigError for a wrong setting; TypeError, when it runs, for a chunk of another type.
    """

    def __init__(
        self,
        automaton: str | os.PathLike[str],
        *,
        rows: str = "documents",
        on_gap: str = "dead_letter",
        max_document_mb: float | None = None,
        max_early_mb: float = 64,
        gap_timeout: float = 600.0,
        stateful: bool | None = None,
        end: str = "marked",
        add_special_tokens: bool = True,
        errors: str = "replace",
    ) -> None:
        super().__init__()
        self._automaton = local_or_remote(automaton)
        if os.path.isfile(self._automaton):
            # Elsewhere, and where it cannot be opened, the workers say so.
            with contextlib.suppress(AutomatonError, OSError):
                require_streams(open_tokenizer(self._automaton))
        self._settings = FileSettings(add_special_tokens=add_special_tokens, errors=errors)
        self._chunks = ChunkSettings(rows, on_gap, max_document_mb, max_early_mb, gap_timeout, end)
        self._stateful = stateful
        if stateful:
            self._require_marks()

    def _require_marks(self) -> None:
        if self._chunks.ends_unmarked:
            raise ConfigError(
                'end="highest" wants all chunks of a document at once, which bounded input has where it is grouped;'
                " mark the last chunks of unbounded input and of stateful=True with last=True."
            )

    def expand(self, pcoll: Any) -> Any:
        stateful = not pcoll.is_bounded if self._stateful is None else self._stateful
        if not pcoll.is_bounded:
            self._require_marks()
        keyed = pcoll | "Split" >> beam.Map(split_chunk).with_output_types(tuple[bytes, Piece])
        if stateful:
            do_fn: beam.DoFn = TokenizeStates(self._automaton, self._settings, self._chunks)
        else:
            keyed = keyed | "Group" >> beam.GroupByKey()
            do_fn = TokenizeGroups(self._automaton, self._settings, self._chunks)
        row = TokenizedDocument if self._chunks.rows == "documents" else TokenizedChunk
        tokenize = beam.ParDo(do_fn).with_output_types(row, **{DEAD_LETTERS: DeadLetter})
        return TwoOutputs(keyed | "Tokenize" >> tokenize.with_outputs(DEAD_LETTERS, main=TOKENIZED))

    def display_data(self) -> dict[str, Any]:
        return {
            "automaton": self._automaton,
            **{name: shown_value(value) for name, value in dataclasses.asdict(self._chunks).items()},
            "stateful": shown_value(self._stateful),
            "add_special_tokens": self._settings.add_special_tokens,
            "errors": self._settings.errors,
        }
