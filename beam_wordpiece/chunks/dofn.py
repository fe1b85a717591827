"""What the DoFn of grouped chunks and that of streams share: the tokenizer, the outputs, and what is counted."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import TaggedOutput

from beam_wordpiece.chunks.elements import TokenizedChunk
from beam_wordpiece.chunks.encode import ids_array, ids_bytes
from beam_wordpiece.chunks.faults import DeadLetter
from beam_wordpiece.chunks.settings import ChunkSettings
from beam_wordpiece.config import FileSettings
from beam_wordpiece.tokenizer import Counts, TextEncoder
from beam_wordpiece.transforms import NAMESPACE, TokenizerDoFn

TOKENIZED = "tokenized"
DEAD_LETTERS = "dead_letters"
COUNTERS = (
    "chunks",
    "chunks_duplicate",
    "chunks_conflict",
    "chunks_late",
    "documents_incomplete",
    "documents_dead",
)


class ChunksDoFn(TokenizerDoFn):
    """Makes rows and dead letters, and counts them."""

    def __init__(self, automaton: str, settings: FileSettings, chunks: ChunkSettings) -> None:
        super().__init__(automaton, settings)
        self.how = chunks
        self._more = {name: Metrics.counter(NAMESPACE, name) for name in COUNTERS}

    @property
    def tokenizer(self) -> TextEncoder:
        return self._tokenizer

    def add(self, name: str, number: int = 1) -> None:
        """Count something of COUNTERS."""
        self._more[name].inc(number)

    def count_text(self, counts: Counts) -> None:
        """Count text that was fed. How many stretches it has, and how many of them are invalid, says nothing here."""
        self._count(dataclasses.replace(counts, documents=0, nulls=0, invalid=0))

    def count_document(self, invalid: bool) -> None:
        self._count(Counts(documents=1, invalid=int(invalid)))

    def dead_letter(self, letter: DeadLetter, *, given: bool) -> Any:
        """The output for a document that is done with. `given`: what there is of it was given as a row or rows."""
        self.add("documents_incomplete" if given else "documents_dead")
        return TaggedOutput(DEAD_LETTERS, letter)


def chunk_rows(tokenizer: TextEncoder, document: str, numbers: Sequence[int], column: Any) -> Iterator[TokenizedChunk]:
    """A row for each chunk of a list column of the kernel's numbers. Each has its own ids, not a slice of all."""
    for number, row in zip(numbers, column, strict=True):
        yield TokenizedChunk(document, number, tokenizer.name_values(ids_array(ids_bytes(row.values))))
