"""Documents whose chunks come in a stream, by hand: state and timer are plain objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from apache_beam.coders import Coder
from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.window import GlobalWindow, IntervalWindow
from apache_beam.utils.timestamp import Timestamp

import beam_wordpiece as bw
from beam_wordpiece.chunks import states
from beam_wordpiece.chunks.elements import split_chunk
from beam_wordpiece.chunks.settings import MB, ChunkSettings
from beam_wordpiece.config import FileSettings
from tests import scattered
from tests.scattered import Facts
from tests.test_chunk_transforms import WAYS


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, automaton: bw.Automaton) -> str:
    path = tmp_path_factory.mktemp("automaton") / "a.bwp"
    automaton.save(path)
    return str(path)


class Cell:
    """A state cell: everything goes through its coder."""

    def __init__(self, coder: Coder) -> None:
        self._coder = coder
        self._values: list[bytes] = []
        self.bytes_read = 0

    def read(self) -> Any:
        return self._coder.decode(self._values[0]) if self._values else None

    def write(self, value: Any) -> None:
        self._values = [self._coder.encode(value)]

    def add(self, value: Any) -> None:
        self._values.append(self._coder.encode(value))

    def clear(self) -> None:
        self._values = []

    @property
    def size(self) -> int:
        return sum(map(len, self._values))


class Bag(Cell):
    def read(self) -> Iterable[Any]:
        self.bytes_read += self.size
        return [self._coder.decode(value) for value in self._values]


class BackwardsBag(Bag):
    """The values of a bag may come in any order."""

    def read(self) -> Iterable[Any]:
        return list(super().read())[::-1]


class Timer:
    def __init__(self) -> None:
        self.due: Timestamp | None = None

    def set(self, due: Timestamp) -> None:
        self.due = due

    def clear(self) -> None:
        self.due = None


class ByHand:
    """The DoFn over the chunks of one document, with state in plain objects."""

    def __init__(self, path: str, window: Any = None, errors: str = "replace", **settings: Any) -> None:
        self._do_fn = states.TokenizeStates(path, FileSettings(errors=errors), ChunkSettings(**settings))
        self._do_fn.setup()
        self._window = window or GlobalWindow()
        self.cells = {
            "progress": Cell(states.PROGRESS_CODER),
            "early": Bag(states.PIECE_CODER),
            "seen": BackwardsBag(states.NUMBERED_CODER),
            "again": BackwardsBag(states.NUMBERED_CODER),
            "ids": BackwardsBag(states.NUMBERED_CODER),
        }
        self.timer = Timer()
        self.rows: list[Any] = []
        self.letters: list[bw.DeadLetter] = []

    def add(self, *chunks: bw.Chunk, time: float = 0) -> None:
        for chunk in chunks:
            self._keep(
                self._do_fn.process(split_chunk(chunk), Timestamp(time), self._window, **self.cells, gap=self.timer)
            )

    def fire(self) -> None:
        assert self.timer.due is not None
        self.timer.due = None
        self._keep(self._do_fn.no_more(b"a", self._window, **self.cells, gap=self.timer))

    def _keep(self, outputs: Iterable[Any]) -> None:
        for output in outputs:
            if isinstance(output, TaggedOutput):
                self.letters.append(output.value)
            else:
                self.rows.append(output)

    @property
    def progress(self) -> states.Progress:
        return states.Progress(*self.cells["progress"].read())

    @property
    def ids(self) -> list[int]:
        return [number for row in self.rows for number in row.input_ids.to_pylist()]


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_chunks_as_they_come(path: str, tokenizer: bw.Tokenizer, full: bool, way: tuple[str, str]) -> None:
    rows, on_gap = way
    for name, arrivals in scattered.documents(6, 5_000 if full else 320).items():
        document = ByHand(path, rows=rows, on_gap=on_gap)
        document.add(*arrivals)
        facts = Facts(scattered.heeded(arrivals))
        if not document.progress.closed:
            assert facts.gaps, "it does not wait when all is there"
            document.fire()
        texts = facts.texts(without_conflicts=False)
        fatal = facts.beyond or (on_gap == "dead_letter" and bool(facts.conflicts))
        dead = fatal or (on_gap == "dead_letter" and bool(facts.gaps))
        if not dead:
            assert document.ids == scattered.encode(tokenizer, texts), name
        elif rows == "chunks":
            # What was given before stands, and is how the document begins.
            assert document.ids == tokenizer.encode(texts[0]).ids[: len(document.ids)]
        else:
            assert document.rows == []
        assert len(document.letters) == int(dead or bool(facts.gaps or facts.conflicts))
        for letter in document.letters:
            assert letter.gaps == ([] if fatal else facts.gaps)
            assert letter.conflicts == facts.conflicts or facts.beyond
            assert letter.rows == len(document.rows)
            assert ("is marked as the last one" in letter.reason) == facts.beyond
            if not fatal:
                assert (letter.chunks, letter.duplicates) == (len(facts.contents), facts.duplicates)
        assert [document.cells[name].size for name in ("early", "seen", "again", "ids")] == [0, 0, 0, 0]


def test_a_row_for_each_chunk_at_once(path: str, tokenizer: bw.Tokenizer) -> None:
    document = ByHand(path, rows="chunks")
    document.add(bw.Chunk("a", 0, "unaffable unaf"), bw.Chunk("a", 2, " cat"))
    assert [row.number for row in document.rows] == [0]
    document.add(bw.Chunk("a", 1, "fable"))
    assert [row.number for row in document.rows] == [0, 1, 2]
    document.add(bw.Chunk("a", 3, "", True))
    assert [row.number for row in document.rows] == [0, 1, 2, 3]
    assert document.ids == tokenizer.encode("unaffable unaffable cat").ids
    assert document.letters == []


def test_a_gap_ends_the_text_before_it(path: str, tokenizer: bw.Tokenizer) -> None:
    document = ByHand(path, rows="chunks", on_gap="emit")
    document.add(bw.Chunk("a", 0, "unaf"), bw.Chunk("a", 2, "fable"), bw.Chunk("a", 3, "s", True))
    document.fire()
    assert [row.number for row in document.rows] == [0, 0, 2, 3]
    assert document.ids == scattered.encode(tokenizer, ["unaf", "fables"])
    assert document.letters[0][2:] == ([(1, 1)], [], 3, 0, 4)


def test_the_timer_waits_for_the_newest_chunk_and_forgets_later(path: str) -> None:
    document = ByHand(path, gap_timeout=60)
    document.add(bw.Chunk("a", 1, "b", True), time=100)
    assert document.timer.due == 160
    document.add(bw.Chunk("a", 3, "b"), time=50)
    assert "there is a chunk 3" in document.letters[0].reason
    assert document.timer.due == 220
    document.add(bw.Chunk("a", 0, "b"), time=200)
    assert document.timer.due == 220
    document.fire()
    assert document.cells["progress"].read() is None
    assert document.timer.due is None
    document.add(bw.Chunk("a", 0, "b", True), time=300)
    assert len(document.rows) == 1


def test_chunks_that_were_there_do_not_keep_a_document_open(path: str) -> None:
    document = ByHand(path, gap_timeout=60)
    document.add(bw.Chunk("a", 0, "b"), time=100)
    document.add(bw.Chunk("a", 0, "b"), time=150)
    assert document.timer.due == 160
    assert document.progress.duplicates == 1


def test_a_window_ends_before_the_timeout(path: str) -> None:
    window = IntervalWindow(0, 100)
    document = ByHand(path, window, gap_timeout=60)
    document.add(bw.Chunk("a", 1, "b"), time=90)
    assert document.timer.due == window.max_timestamp()
    document.fire()
    assert len(document.letters) == 1
    assert document.timer.due is None, "the tombstone goes with the window"
    document.add(bw.Chunk("a", 0, "b"), time=95)
    assert len(document.letters) == 1
    assert document.timer.due is None


def test_early_chunks_are_bounded(path: str) -> None:
    for on_gap, rows in (("dead_letter", 0), ("emit", 1)):
        document = ByHand(path, max_early_mb=1, on_gap=on_gap)
        for number in range(1, 5):
            document.add(bw.Chunk("a", number, b"x" * (MB // 4)))
        # One that came twice makes room again.
        document.add(bw.Chunk("a", 4, b"x" * (MB // 4)))
        assert document.letters == []
        assert document.progress.early == document.progress.weight == MB
        document.add(bw.Chunk("a", 7, b"x"))
        (letter,) = document.letters
        assert "more than 1 MB of chunks wait for those before them (max_early_mb)" in letter.reason
        assert letter[2:] == ([(0, 0), (5, 6), (8, None)], [], 5, 1, rows)
        assert len(document.rows) == rows
        assert document.progress.closed


def test_documents_that_are_too_large(path: str) -> None:
    document = ByHand(path, max_document_mb=1, on_gap="emit")
    for number in range(4):
        document.add(bw.Chunk("a", number, b"x" * (MB // 4)))
        document.add(bw.Chunk("a", number, b"x" * (MB // 4)))
    assert document.letters == []
    document.add(bw.Chunk("a", 4, b"", True))
    (letter,) = document.letters
    assert "it has more than 1 MB (max_document_mb" in letter.reason
    assert (letter.chunks, letter.duplicates, document.rows) == (4, 4, [])


def test_a_number_out_of_range(path: str) -> None:
    document = ByHand(path, on_gap="emit")
    document.add(bw.Chunk("a", 0, b"x"), bw.Chunk("a", -1, b"x", True))
    assert "a number below 0" in document.letters[0].reason
    assert document.rows == []


def test_text_that_is_not_utf8_where_that_is_an_error(path: str, tokenizer: bw.Tokenizer) -> None:
    document = ByHand(path, rows="chunks", errors="error")
    document.add(bw.Chunk("a", 2, b"\xa9\xff", True), bw.Chunk("a", 1, b"b\xc3"), bw.Chunk("a", 0, "unaffable "))
    (letter,) = document.letters
    assert "it is not UTF-8, as chunk 2 shows" in letter.reason
    assert document.ids == tokenizer.encode("unaffable").ids[: len(document.ids)]
    assert document.progress.closed


@pytest.mark.parametrize("first", [True, False])
def test_a_chunk_that_is_the_last_one_and_is_not(path: str, tokenizer: bw.Tokenizer, first: bool) -> None:
    for on_gap, texts in (("dead_letter", []), ("emit", ["ab"])):
        document = ByHand(path, on_gap=on_gap)
        document.add(bw.Chunk("a", 1, "b", first), bw.Chunk("a", 1, "b", not first), bw.Chunk("a", 0, "a"))
        assert document.ids == scattered.encode(tokenizer, texts)
        (letter,) = document.letters
        assert (letter.gaps, letter.conflicts) == ([], [1])


def test_a_chunk_that_was_fed_and_comes_again_as_the_last(path: str) -> None:
    document = ByHand(path)
    document.add(bw.Chunk("a", 0, "a"), bw.Chunk("a", 0, "a", True))
    (letter,) = document.letters
    assert (letter.gaps, letter.conflicts, letter.duplicates) == ([], [0], 0)


def test_a_chunk_that_waits_though_it_is_next_comes_again(path: str, tokenizer: bw.Tokenizer) -> None:
    document = ByHand(path)
    chunks = [bw.Chunk("a", number, f"{number} ", number == 12) for number in range(13)]
    document.add(*(chunks[number] for number in (1, *range(3, 12), 0, 2)))
    assert (document.progress.fed, document.progress.least) == (3, 3), "it waits until more have come"
    document.add(chunks[3], chunks[12])
    assert document.ids == tokenizer.encode(" ".join(map(str, range(13)))).ids
    assert document.letters == []


def test_waiting_chunks_are_not_read_for_each_that_comes(path: str, tokenizer: bw.Tokenizer) -> None:
    """Two lanes, one far behind: the state that is read stays a small multiple of the text, and not its square."""
    count, size = 400, 4096
    text = b"unaffable words " * (count * size // 16)
    chunks = [bw.Chunk("a", n, text[n * size : (n + 1) * size], n == count - 1) for n in range(count)]
    document = ByHand(path)
    document.add(*chunks[1::2], *chunks[::2])
    assert document.ids == tokenizer.encode(text.decode()).ids
    assert document.cells["early"].bytes_read < 6 * len(text)


def test_what_was_seen_is_not_read_for_each_chunk_that_comes_again(path: str, tokenizer: bw.Tokenizer) -> None:
    """A source that gives all again: what is read stays a small multiple of what is kept, and not its square."""
    chunks = [bw.Chunk("a", number, f"{number} ") for number in range(400)]
    document = ByHand(path)
    document.add(*chunks)
    size = document.cells["seen"].size
    document.add(*chunks, *chunks, bw.Chunk("a", 400, "", True))
    assert document.cells["seen"].bytes_read < 12 * size
    assert document.ids == tokenizer.encode(" ".join(map(str, range(400)))).ids
    assert document.letters == []


@pytest.mark.parametrize("on_gap", ["dead_letter", "emit"])
def test_a_conflict_is_found_before_the_end_is_given(path: str, on_gap: str) -> None:
    document = ByHand(path, rows="chunks", on_gap=on_gap)
    document.add(*(bw.Chunk("a", number, f"{number} ") for number in range(100)))
    document.add(*(bw.Chunk("a", number, text) for number, text in ((3, "x"), (7, "7 "), (3, "y"), (3, "x"))))
    assert (document.progress.unsorted, document.letters) == (4, [])
    document.add(bw.Chunk("a", 100, "", True))
    (letter,) = document.letters
    assert letter[2:] == ([], [3], 100 + (on_gap == "emit"), 2, len(document.rows))
    assert len(document.rows) == 100 + (on_gap == "emit")


def test_the_state_is_small(path: str) -> None:
    """What is carried for a document without gaps: the cell and 19 bytes a chunk or so."""
    document = ByHand(path, rows="chunks")
    for number in range(1000):
        document.add(bw.Chunk("a", number, "unaffable words " * 100))
    assert sum(cell.size for cell in document.cells.values()) < 1000 * 20 + 1500
