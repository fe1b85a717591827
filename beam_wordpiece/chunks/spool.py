"""All chunks of a document, in any order, put in order by way of a file. No Beam in here."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator
from typing import IO

from beam_wordpiece.chunks.elements import MAX_NUMBER, NO_NUMBER, Piece, stretches, weight_of
from beam_wordpiece.chunks.faults import Faults, after_the_end, gaps_between, misnumbered, too_large
from beam_wordpiece.chunks.settings import MB

# Bytes of text of a document that are held in memory; more goes into a temporary file.
SPOOL_BYTES = 8 * MB


def spool_file() -> IO[bytes]:
    """A file in memory up to SPOOL_BYTES, and then on disk, in the folder of temporary files (TMPDIR)."""
    return tempfile.SpooledTemporaryFile(SPOOL_BYTES)


class ChunkSpool:
    """The chunks of one document as they come: texts in a file, and an index of about LEAST_WEIGHT bytes a chunk.

    `file`: empty, to read and write (`spool_file`). `limit`: what all chunks may weigh, in bytes. `ends_unmarked`:
    where no chunk is marked as the last one, it is that with the highest number.
    """

    def __init__(self, file: IO[bytes], limit: int, ends_unmarked: bool = False) -> None:
        self._limit = limit
        self._ends_unmarked = ends_unmarked
        self._file = file
        # The row of a number, and where the text of a row starts in the file: the next one begins where it ends.
        self._rows: dict[int, int] = {}
        self._starts = array("q", [0])
        self._ends: set[int] = set()
        self._conflicts: set[int] = set()
        self._misnumbered = 0
        self._weight = 0
        self.duplicates = 0

    def add(self, number: int, text: bytes, last: bool) -> bool:
        """Add a chunk. False where the document is too large now: there is no use in adding more."""
        if number == NO_NUMBER:
            self._misnumbered += 1
        elif number in self._rows:
            self._compare(number, text, last)
        else:
            self._weight += weight_of(text)
            if self.is_too_large:
                return False
            self._file.seek(self._starts[-1])
            self._file.write(text)
            self._rows[number] = len(self._rows)
            self._starts.append(self._starts[-1] + len(text))
        if last and number != NO_NUMBER:
            self._ends.add(number)
        return True

    def _compare(self, number: int, text: bytes, last: bool) -> None:
        if last == (number in self._ends) and text == self._read(number):
            self.duplicates += 1
        else:
            self._conflicts.add(number)

    def _read(self, number: int) -> bytes:
        row = self._rows[number]
        self._file.seek(self._starts[row])
        return self._file.read(self._starts[row + 1] - self._starts[row])

    def pieces(self) -> Iterator[Piece]:
        """The chunks in order, without those that are in conflict; a text ends before each gap."""
        for number, ends in stretches(sorted(self._rows.keys() - self._conflicts)):
            yield number, self._read(number), ends

    @property
    def is_too_large(self) -> bool:
        return self._weight > self._limit

    @property
    def chunks(self) -> int:
        """How many different chunks there are."""
        return len(self._rows)

    def faults(self) -> Faults:
        """What is wrong with the document, when all its chunks are there."""
        if self.is_too_large:
            return Faults([too_large(self._limit)])
        fatal = []
        if self._misnumbered:
            fatal.append(misnumbered(self._misnumbered))
        numbers = sorted(self._rows)
        end = min(self._ends, default=MAX_NUMBER)
        if numbers and numbers[-1] > end:
            fatal.append(after_the_end(end, numbers[-1]))
        return Faults(fatal, gaps_between(numbers, bool(self._ends) or self._ends_unmarked), sorted(self._conflicts))
