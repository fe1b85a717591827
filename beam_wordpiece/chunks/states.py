"""The DoFn of documents whose chunks come in a stream: a document's state, and the timer that gives it up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam.coders import BooleanCoder, BytesCoder, TupleCoder, VarIntCoder
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import BagStateSpec, ReadModifyWriteStateSpec, TimerSpec, on_timer
from apache_beam.utils.timestamp import Duration, Timestamp

from beam_wordpiece.chunks.dofn import ChunksDoFn
from beam_wordpiece.chunks.elements import Piece, document_name
from beam_wordpiece.chunks.progress import Cells, OpenDocument, Progress

CODERS = {bool: BooleanCoder(), int: VarIntCoder(), bytes: BytesCoder()}
PROGRESS_CODER = TupleCoder([CODERS[type(value)] for value in Progress()])
PIECE_CODER = TupleCoder([VarIntCoder(), BytesCoder(), BooleanCoder()])
NUMBERED_CODER = TupleCoder([VarIntCoder(), BytesCoder()])

PROGRESS = beam.DoFn.StateParam(ReadModifyWriteStateSpec("progress", PROGRESS_CODER))
EARLY = beam.DoFn.StateParam(BagStateSpec("early", PIECE_CODER))
SEEN = beam.DoFn.StateParam(BagStateSpec("seen", NUMBERED_CODER))
AGAIN = beam.DoFn.StateParam(BagStateSpec("again", NUMBERED_CODER))
IDS = beam.DoFn.StateParam(BagStateSpec("ids", NUMBERED_CODER))
# Of event time: the watermark says what can still come, so that a source that stands still or lies behind, and a run
# over old messages, makes no gaps.
GAP_SPEC = TimerSpec("gap", TimeDomain.WATERMARK)
GAP = beam.DoFn.TimerParam(GAP_SPEC)


class TokenizeStates(ChunksDoFn):
    """Chunks of documents, each as it comes, to their rows."""

    def process(
        self,
        element: tuple[bytes, Piece],
        timestamp: Any = beam.DoFn.TimestampParam,
        window: Any = beam.DoFn.WindowParam,
        progress: Any = PROGRESS,
        early: Any = EARLY,
        seen: Any = SEEN,
        again: Any = AGAIN,
        ids: Any = IDS,
        gap: Any = GAP,
    ) -> Iterator[Any]:
        key, (number, text, last) = element
        document = OpenDocument(self, document_name(key), Cells(progress, early, seen, again, ids))
        if document.known.closed:
            self.add("chunks_late")
            return
        is_new = yield from document.take(number, text, last)
        if is_new:
            document.note(newest=max(document.known.newest, timestamp.micros))
        document.save()
        self._set_timer(gap, document.known, window)

    @on_timer(GAP_SPEC)
    def no_more(
        self,
        key: Any = beam.DoFn.KeyParam,
        window: Any = beam.DoFn.WindowParam,
        progress: Any = PROGRESS,
        early: Any = EARLY,
        seen: Any = SEEN,
        again: Any = AGAIN,
        ids: Any = IDS,
        gap: Any = GAP,
    ) -> Iterator[Any]:
        """No chunk came for so long: give the document up, or forget that it is closed."""
        document = OpenDocument(self, document_name(key), Cells(progress, early, seen, again, ids))
        if document.known.closed:
            progress.clear()
            return
        yield from document.settle()
        document.save()
        self._set_timer(gap, document.known, window)

    def _set_timer(self, gap: Any, known: Progress, window: Any) -> None:
        """Settle the document `gap_timeout` after its newest chunk, and forget it as long after that again."""
        timeout = Duration.of(self.how.gap_timeout)
        due = Timestamp(micros=known.newest) + timeout + (timeout if known.closed else 0)
        end = window.max_timestamp()
        if due <= end:
            gap.set(due)
        elif known.closed:
            # A late chunk may come as long as there is the window, which takes the state with it.
            gap.clear()
        else:
            gap.set(end)
