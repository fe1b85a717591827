"""Keywords in documents that come in pieces, cut anywhere. No Beam in here."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from beam_wordpiece import _core
from beam_wordpiece.dictionary import Dictionary
from beam_wordpiece.stream import ChunkFeeder, state_bytes


class KeywordStream(ChunkFeeder):
    """Finds the keys of a dictionary in a document that comes in pieces (chunks), wherever it is cut.

    All that is fed and finished, one after the other, is what `Dictionary.find` gives for the whole document, with the
    same `overlapping`. Places are characters (code points) of the document. An occurrence leaves as soon as it is
    certain: with its last character, or without `overlapping`, where it is the beginning of a longer key, with the
    character that shows that this one is not there. What is carried from one chunk to the next is the beginning of a
    key and the bytes of a character that is cut off; feeding takes the time of finding, however small the chunks are.

    A stream must not be fed by two threads at once: the second of them gets a RuntimeError. Raises TypeError for what
    is no Dictionary, ConfigError as `Dictionary.find` does.
    """

    def __init__(self, dictionary: Dictionary, *, overlapping: bool = False) -> None:
        if not isinstance(dictionary, Dictionary):
            raise TypeError(f"A KeywordStream is made of a Dictionary, not of {type(dictionary).__name__}.")
        self._dictionary = dictionary
        core = _core.KeywordStream(dictionary._finder, overlapping=bool(overlapping))
        super().__init__(core, dictionary.errors)

    @property
    def dictionary(self) -> Dictionary:
        return self._dictionary

    @property
    def overlapping(self) -> bool:
        overlapping: bool = self._core.overlapping
        return overlapping

    def feed(self, chunk: Any) -> list[tuple[int, int, str]]:
        """Add a chunk and get what is certain now: first characters, ends and ids, in the order of `Dictionary.find`.

        `chunk`: as for `Stream.feed`. Raises TypeError, InputError and TextError as that does; the chunk is then not
        added.
        """
        return self._dictionary._names.occurrences(*self._feed(chunk))

    def finish(self) -> list[tuple[int, int, str]]:
        """End the document and get the rest. The next chunk begins another one.

        Raises TextError with errors="error" where the document ends within a character.
        """
        return self._dictionary._names.occurrences(*self._finish())

    def feed_arrow(self, chunks: Any, ends: Any) -> pa.Array[Any]:
        """Add rows of chunks, of one document after the other, in one call: `chunks` and `ends` as `Stream.feed_arrow`.

        Gives what `Dictionary.find_arrow` gives, a row for each chunk, never null: the occurrences that are certain
        with it. Those of a document, side by side, are those of the whole. Raises what `Stream.feed_arrow` raises.
        """
        found: pa.Array[Any] = self._dictionary._names.occurrence_lists(pa.array(self._feed_rows(chunks, ends)))
        return found

    def to_bytes(self) -> bytes:
        """The state, with the fingerprint of the dictionary: some dozens of bytes beside what is undecided.

        It may be stored, and taken up again by another process, on another machine.
        """
        state: bytes = self._core.to_bytes()
        return state

    @classmethod
    def from_bytes(cls, dictionary: Dictionary, state: bytes | bytearray | memoryview) -> KeywordStream:
        """The stream that had this state, `overlapping` included.

        Raises TypeError where the state is not bytes; AutomatonError where it is damaged, of another version, or of
        another dictionary.
        """
        stream = cls(dictionary)
        stream._core = _core.KeywordStream.from_bytes(dictionary._finder, state_bytes(state))
        return stream

    def __reduce__(self) -> tuple[Any, ...]:
        return KeywordStream.from_bytes, (self._dictionary, self.to_bytes())

    def __repr__(self) -> str:
        return f"KeywordStream({self._dictionary!r}, overlapping={self.overlapping})"
