"""What can be wrong with a document that comes in chunks, and the dead letter that says so. No Beam in here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from beam_wordpiece.chunks.elements import LEAST_WEIGHT
from beam_wordpiece.chunks.settings import MB
from beam_wordpiece.errors import NOT_UTF8

# How many chunks a sentence lists. The fields of a `DeadLetter` have them all.
LISTED = 10

NO_END = (
    'no chunk is the last one (mark it with last=True; end="highest" takes the highest number of bounded input for it)'
)

# The first and the last number that are missing; None as the last where the end of the document is missing too.
Gap = tuple[int, "int | None"]


class DeadLetter(NamedTuple):
    """A document of which not everything could be tokenized, or nothing.

    `reason`: a sentence for people. `gaps`: the chunks that are missing, as pairs of the first and the last number,
    both included; the last is None where no chunk was the last one. `conflicts`: numbers that came with different
    contents. `chunks`: how many different chunks there were. `duplicates`: how many were dropped since the same was
    there already. `rows`: how many rows of the document were given nevertheless.
    """

    document: str
    reason: str
    gaps: list[Gap]
    conflicts: list[int]
    chunks: int
    duplicates: int
    rows: int


@dataclass(frozen=True)
class Faults:
    """What is wrong with a document. `fatal`: sentences about what no policy accepts; the rest as in `DeadLetter`."""

    fatal: list[str] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    conflicts: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.fatal or self.gaps or self.conflicts)

    def letter(self, document: str, chunks: int, duplicates: int, rows: int) -> DeadLetter:
        """The dead letter that says so."""
        reason = f"The document {document!r} is not whole or not valid: {'; '.join(self._reasons())}."
        return DeadLetter(document, reason, self.gaps, self.conflicts, chunks, duplicates, rows)

    def _reasons(self) -> list[str]:
        reasons = list(self.fatal)
        missing = [_range(first, last) for first, last in self.gaps if last is not None]
        if missing:
            reasons.append(f"chunks missing: {_listed(missing)}")
        if len(missing) < len(self.gaps):
            reasons.append(NO_END)
        if self.conflicts:
            reasons.append(f"chunks with different contents: {_listed([str(number) for number in self.conflicts])}")
        return reasons


def _range(first: int, last: int) -> str:
    return f"{first}" if last == first else f"{first} to {last}"


def _listed(items: Sequence[str]) -> str:
    more = f" and {len(items) - LISTED} more" if len(items) > LISTED else ""
    return ", ".join(items[:LISTED]) + more


def gaps_between(numbers: Iterable[int], ended: bool, start: int = 0) -> list[Gap]:
    """What is missing from `start` on. `numbers`: those that are there, sorted. `ended`: the last of all is there."""
    gaps: list[Gap] = []
    for number in numbers:
        if number > start:
            gaps.append((start, number - 1))
        start = number + 1
    return gaps if ended else [*gaps, (start, None)]


def too_large(limit: int) -> str:
    return f"it has more than {limit / MB:g} MB (max_document_mb; a chunk counts for {LEAST_WEIGHT} bytes at least)"


def too_early(limit: int) -> str:
    return f"more than {limit / MB:g} MB of chunks wait for those before them (max_early_mb)"


def misnumbered(chunks: int) -> str:
    return f"{chunks} of its chunks have a number below 0 or above 2**63 - 1"


def after_the_end(end: int, highest: int) -> str:
    return f"chunk {end} is marked as the last one and there is a chunk {highest}"


def not_utf8(number: int) -> str:
    return f'it is not UTF-8, as chunk {number} shows (errors="replace" reads each bad part as U+FFFD)'


def refused(number: int, fault: str) -> str:
    """The fault of a document whose text the tokenizer refuses at this chunk."""
    # A stream puts the byte behind the words.
    return (
        not_utf8(number)
        if fault.startswith(NOT_UTF8.partition(";")[0])
        else f"in chunk {number} its text {fault.removesuffix('.')}"
    )
