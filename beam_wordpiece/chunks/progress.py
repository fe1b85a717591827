"""One document whose chunks come in a stream: what is in order is fed, what is early waits. Its state is Beam's."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from beam_wordpiece.chunks.dofn import ChunksDoFn, chunk_rows
from beam_wordpiece.chunks.elements import NO_NUMBER, Piece, TokenizedDocument, stretches, weight_of
from beam_wordpiece.chunks.encode import InvalidChunk, encode_pieces, ids_array, ids_bytes
from beam_wordpiece.chunks.faults import (
    Faults,
    after_the_end,
    gaps_between,
    misnumbered,
    refused,
    too_early,
    too_large,
)
from beam_wordpiece.stream import Stream


class Progress(NamedTuple):
    """What is known of a document between two chunks; all of it is in one cell of the state.

    `closed`: nothing more is made of the document. `invalid`: some of its text is not UTF-8. `fed`: chunks that were
    fed, which is the number of the next one. `end`: the number of the last chunk, -1 while unknown. `highest`: the
    highest number so far. `weight`: of all chunks. Of the chunks that wait: `waiting` (how many), `early` (their
    weight), `least` (their lowest number, -1 where there are none), `since` (the weight of all that came since they
    were last looked at). How many chunks came again: `duplicates` with the same content, `conflicts` with another,
    `unsorted` with one of the two. `rows`: how many were given. `parts`: how many parts of ids are put aside. `newest`:
    the latest time of a chunk, in microseconds. `stream`: the state of the `Stream` after the chunks that were fed.
    """

    closed: bool = False
    invalid: bool = False
    fed: int = 0
    end: int = -1
    highest: int = -1
    weight: int = 0
    waiting: int = 0
    early: int = 0
    least: int = -1
    since: int = 0
    duplicates: int = 0
    conflicts: int = 0
    unsorted: int = 0
    rows: int = 0
    parts: int = 0
    newest: int = -(2**63)
    stream: bytes = b""


class Cells(NamedTuple):
    """The state of a document.

    `progress`: a `Progress` as a tuple. `early`: bag of the chunks that wait. `seen`: bag of number and digest of those
    that were fed. `again`: the same of those that are in conflict, or came again and are unsorted. `ids`: for rows of
    documents, bag of the ids so far, each part with its place among them.
    """

    progress: Any
    early: Any
    seen: Any
    again: Any
    ids: Any


class OpenDocument:
    """What `cells` hold of a document, and what becomes of it. Whoever changes it has to `save` it."""

    def __init__(self, owner: ChunksDoFn, name: str, cells: Cells) -> None:
        self._owner = owner
        self._name = name
        self._cells = cells
        self.known = Progress(*(cells.progress.read() or ()))

    def note(self, **changes: Any) -> None:
        self.known = self.known._replace(**changes)

    def save(self) -> None:
        self._cells.progress.write(tuple(self.known))

    def take(self, number: int, text: bytes, last: bool) -> Generator[Any, None, bool]:
        """Give what can be given with one more chunk. Returns whether it was, as far as is known, a new one."""
        known, weight = self.known, weight_of(text)
        if number == NO_NUMBER:
            yield from self._kill(Faults([misnumbered(1)]))
        elif number < known.fed:
            yield from self._add_again(number, text, last)
            return False
        elif (ends := [end for end in (known.end, number if last else -1) if end >= 0]) and (
            max(known.highest, number) > min(ends)
        ):
            yield from self._kill(Faults([after_the_end(min(ends), max(known.highest, number))]))
        elif known.weight + weight > self._owner.how.document_bytes:
            yield from self._kill(Faults([too_large(self._owner.how.document_bytes)]))
        else:
            self.note(end=ends[0] if ends else -1, highest=max(known.highest, number))
            self.note(weight=known.weight + weight, since=known.since + weight)
            yield from self._add(number, text, last)
        return True

    def _add(self, number: int, text: bytes, last: bool) -> Iterator[Any]:
        known, weight = self.known, weight_of(text)
        if number == known.fed != known.least:
            yield from self._feed([(number, text, last)])
        else:
            self._cells.early.add((number, text, last))
            least = number if known.least < 0 else min(number, known.least)
            self.note(waiting=known.waiting + 1, early=known.early + weight, least=least)
        if self._is_due():
            yield from self._drain()
        if self.known.early > self._owner.how.early_bytes:
            yield from self._drain()
            if self.known.early > self._owner.how.early_bytes:
                yield from self.settle(too_early(self._owner.how.early_bytes))

    def _is_due(self) -> bool:
        """Whether to read the chunks that wait, as the next one is among them.

        Either the document is complete, or so much came that what is read is not much more than that: were they read
        whenever the next one is there, it could be all of them for every chunk.
        """
        known = self.known
        complete = 0 <= known.end < known.fed + known.waiting
        return known.least == known.fed and (complete or 2 * known.since >= known.early)

    def _drain(self) -> Generator[Any, None, dict[int, tuple[bytes, bool]]]:
        """Feed the chunks that wait as far as they are in order. Returns those that go on waiting."""
        early: dict[int, tuple[bytes, bool]] = {}
        differs = False
        for number, text, last in self._cells.early.read():
            if number not in early:
                early[number] = (text, last)
                continue
            self.note(weight=self.known.weight - weight_of(text))
            if early[number] == (text, last):
                self._note_again(duplicates=1, conflicts=0)
            else:
                self._cells.again.add((number, digest_of(text, last)))
                self.note(unsorted=self.known.unsorted + 1)
                differs = True
        if differs:
            yield from self._sort_again()
            if self.known.closed:
                return {}
        ready: list[Piece] = []
        while (number := self.known.fed + len(ready)) in early:
            ready.append((number, *early.pop(number)))
        self._cells.early.clear()
        for number, piece in early.items():
            self._cells.early.add((number, *piece))
        weight = sum(weight_of(text) for text, _ in early.values())
        self.note(waiting=len(early), early=weight, least=min(early, default=-1), since=0)
        yield from self._feed(ready)
        return early

    def _add_again(self, number: int, text: bytes, last: bool) -> Iterator[Any]:
        """Put a chunk aside that came again after it was fed.

        Which of them are in conflict is looked up when there are many. Were it looked up for each, all that was fed
        could be read for every chunk.
        """
        self._cells.again.add((number, digest_of(text, last)))
        self.note(unsorted=self.known.unsorted + 1)
        if 4 * self.known.unsorted >= self.known.fed + self.known.conflicts:
            yield from self._sort_again()

    def _sort_again(self) -> Iterator[Any]:
        """Tell the chunks that came again with the same content from those that are in conflict."""
        self._drop_duplicates()
        if self.known.conflicts and self._owner.how.on_gap == "dead_letter":
            yield from self._kill(Faults())

    def _drop_duplicates(self) -> None:
        """Keep of the chunks that came again those that are in conflict, each content once."""
        if not self.known.unsorted:
            return
        others = set(self._cells.again.read()).difference(self._cells.seen.read())
        self._cells.again.clear()
        for other in sorted(others):
            self._cells.again.add(other)
        more = len(others) - self.known.conflicts
        self._note_again(duplicates=self.known.unsorted - more, conflicts=more)
        self.note(unsorted=0)

    def _note_again(self, duplicates: int, conflicts: int) -> None:
        known = self.known
        self.note(duplicates=known.duplicates + duplicates, conflicts=known.conflicts + conflicts)
        self._owner.add("chunks_duplicate", duplicates)
        self._owner.add("chunks_conflict", conflicts)

    def _feed(self, pieces: Sequence[Piece]) -> Iterator[Any]:
        """Feed chunks that are next, and finish the document with its last one."""
        if not pieces:
            return
        end = self.known.end
        if pieces[-1][0] == end:
            yield from self._sort_again()
            if self.known.closed:
                return
        yield from self._encode([(number, text, number == end) for number, text, _ in pieces])
        if self.known.closed:
            return
        self._owner.add("chunks", len(pieces))
        self.note(fed=pieces[-1][0] + 1)
        if self.known.fed == end + 1:
            yield from self._finish(Faults())
            return
        for number, text, last in pieces:
            self._cells.seen.add((number, digest_of(text, last)))

    def _encode(self, pieces: Iterable[Piece]) -> Iterator[Any]:
        tokenizer = self._owner.tokenizer
        stream = Stream.from_bytes(tokenizer, self.known.stream) if self.known.fed else Stream(tokenizer)
        try:
            for numbers, column, counts in encode_pieces(stream, pieces):
                self._owner.count_text(counts)
                self.note(invalid=self.known.invalid or counts.invalid > 0)
                if self._owner.how.rows == "chunks":
                    self.note(rows=self.known.rows + len(numbers))
                    yield from chunk_rows(self._owner.tokenizer, self._name, numbers, column)
                else:
                    self._cells.ids.add((self.known.parts, ids_bytes(column.flatten())))
                    self.note(parts=self.known.parts + 1)
        except InvalidChunk as error:
            yield from self._kill(Faults([refused(error.number, error.fault)]))
            return
        self.note(stream=stream.to_bytes())

    def settle(self, *reasons: str) -> Iterator[Any]:
        """Wait no longer: what is missing is a gap. `reasons`: sentences about why."""
        early = yield from self._drain()
        if not self.known.closed:
            yield from self._sort_again()
        if self.known.closed:
            return
        numbers = sorted(early)
        faults = Faults(list(reasons), gaps_between(numbers, self.known.end >= 0, self.known.fed))
        if self._owner.how.on_gap == "dead_letter":
            yield from self._kill(faults)
            return
        # The text before the gap ends with nothing more, under the number of the last chunk that it has.
        before = [(self.known.fed - 1, b"", True)] if self.known.fed else []
        yield from self._encode([*before, *((number, early[number][0], ends) for number, ends in stretches(numbers))])
        if not self.known.closed:
            self._owner.add("chunks", len(numbers))
            yield from self._finish(faults)

    def _finish(self, faults: Faults) -> Iterator[Any]:
        if self._owner.how.rows == "documents":
            parts = sorted(self._cells.ids.read(), key=lambda part: part[0])
            self.note(rows=self.known.rows + 1)
            ids = pa.concat_arrays([ids_array(part) for _, part in parts])
            yield TokenizedDocument(self._name, self._owner.tokenizer.name_values(ids))
        self._owner.count_document(self.known.invalid)
        yield from self._close(faults, given=True)

    def _kill(self, faults: Faults) -> Iterator[Any]:
        yield from self._close(faults, given=False)

    def _close(self, faults: Faults, given: bool) -> Iterator[Any]:
        """Forget all but that the document is closed, and say in a dead letter what was wrong with it."""
        self._drop_duplicates()
        known, cells = self.known, self._cells
        if known.conflicts:
            faults.conflicts.extend(sorted({number for number, _ in cells.again.read()}))
        if faults:
            letter = faults.letter(self._name, known.fed + known.waiting, known.duplicates, known.rows)
            yield self._owner.dead_letter(letter, given=given)
        for cell in (cells.early, cells.seen, cells.again, cells.ids):
            cell.clear()
        self.known = Progress(closed=True, newest=known.newest)


def digest_of(text: bytes, last: bool) -> bytes:
    """16 bytes that tell contents of chunks apart."""
    return hashlib.blake2b(text, digest_size=16, key=b"last" if last else b"").digest()
