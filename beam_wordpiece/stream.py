"""Documents that come in pieces, cut anywhere -> the encodings of the whole documents. No Beam in here."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from beam_wordpiece import _core
from beam_wordpiece.arrow_text import CAPSULES, import_texts
from beam_wordpiece.errors import ConfigError, InputError, TextError
from beam_wordpiece.tokenizer import REPLACE, SURROGATE, Counts, Encoding, TextEncoder


class ChunkFeeder:
    """What streams share: chunks of every kind, which it hands to `_core`, a stream of the kernel."""

    def __init__(self, core: Any, errors: str) -> None:
        self._core = core
        self._errors = errors

    def _feed(self, chunk: Any) -> Any:
        """What the kernel gives for a chunk. Raises what `Stream.feed` raises."""
        if isinstance(chunk, str):
            return self._feed_str(chunk)
        if isinstance(chunk, (bytes, bytearray, memoryview)):
            return self._core.feed_bytes(bytes(chunk), False)
        if isinstance(chunk, pa.Scalar):
            # Not by way of a str, which text that is not UTF-8 cannot be.
            chunk = pa.array([chunk], chunk.type)
        if isinstance(chunk, (pa.Array, pa.ChunkedArray)) or any(hasattr(chunk, name) for name in CAPSULES):
            return self._core.feed_arrays(import_texts(chunk).of_rows())
        raise TypeError(
            f"A chunk has to be str, bytes, or an Arrow scalar or array of text, not {type(chunk).__name__}."
        )

    def _feed_str(self, chunk: str) -> Any:
        try:
            return self._core.feed(chunk, False)
        except UnicodeEncodeError as error:
            if self._errors == "error":
                raise TextError(
                    f"The chunk has a lone surrogate at character {error.start}; repair it, or give {REPLACE}.", 0
                ) from error
            return self._core.feed(SURROGATE.sub("\ufffd", chunk), False)

    def _finish(self) -> Any:
        return self._core.feed_bytes(b"", True)

    def _feed_rows(self, chunks: Any, ends: Any) -> Any:
        """What the kernel gives for rows of chunks. Raises what `Stream.feed_arrow` raises."""
        if not isinstance(ends, (pa.Array, pa.ChunkedArray)) or ends.type != pa.bool_() or ends.null_count:
            raise InputError("The ends have to be an Arrow array of booleans without nulls.")
        flags: Any = pc.cast(ends, pa.uint8())
        parts = flags.chunks if isinstance(flags, pa.ChunkedArray) else [flags]
        return self._core.feed_arrow(import_texts(chunks).of_rows(), b"".join(map(_bytes, parts)))


class Stream(ChunkFeeder):
    """Encodes a document that comes in pieces (chunks), wherever it is cut.

    All that is fed and finished, one after the other, is the encoding of the whole document, for any cut: inside a
    UTF-8 sequence, a word, marks that are sorted, an added token, the white space that it takes. What is carried from
    one chunk to the next is what is undecided, and nothing more: the word that is open, because the rest of it may
    still make it unknown, and the bytes of a character or an added token that is cut off. So its size is bounded by
    `max_input_chars_per_word` and the longest added token, whatever the document. Feeding takes the time of encoding;
    of a chunk that ends within what may be an added token, so much is looked at again with the next.

    When a token leaves: with word splitting, when its word is known to be at its end, which the next character shows;
    an ideograph or a punctuation mark at once, unless an added token may begin with it. Without word splitting
    (`pretokenize=False`), as soon as no longer token is possible: with its last character where no token of the
    vocabulary continues it, otherwise with the first character that none of them continues with. So what is held back
    is the beginning of a token, and an endless stream takes no more memory than the longest one. So it is with words
    too where not the whole of one is unknown. A run of unknown characters (`unknown="run"`) leaves with its first one.

    A stream supports all that a Tokenizer does: the template's special tokens come before the first chunk's tokens, and
    after the last ones when it is finished. What needs the whole document (truncation, padding) no Tokenizer has. What
    needs the whole of a word or stretch (backward=True, segmentation="fewest") is refused with a ConfigError.

    `offsets`: the Encodings that come out have `offsets` and `word_ids`, counted in characters and words of the whole
    document. That takes 16 times as long, 32 where no lists are made, and an added token that takes the white space
    behind it (`rstrip`) and a run of unknown characters leave when that has ended.

    With a Dictionary the ids are strings: in `ids` of the Encodings, and in the list<string> of `feed_arrow`.

    A stream must not be fed by two threads at once: the second of them gets a RuntimeError.
    """

    def __init__(self, tokenizer: TextEncoder, *, offsets: bool = False) -> None:
        if not isinstance(tokenizer, TextEncoder):
            raise TypeError(f"A Stream is made of a Tokenizer or a Dictionary, not of {type(tokenizer).__name__}.")
        require_streams(tokenizer)
        self._tokenizer = tokenizer
        super().__init__(_core.Stream(tokenizer._encoder, offsets=bool(offsets)), tokenizer.errors)

    @property
    def tokenizer(self) -> TextEncoder:
        return self._tokenizer

    @property
    def offsets(self) -> bool:
        offsets: bool = self._core.offsets
        return offsets

    def feed(self, chunk: Any) -> Encoding:
        """Add a chunk and get what is decided now; it may be nothing.

        `chunk`: str; bytes of UTF-8, which may be cut anywhere; an Arrow scalar of text; or an Arrow array (anything
        that `Tokenizer.encode_arrow` takes) of chunks that follow each other. A null adds nothing.

        Raises TypeError for anything else, InputError as `encode_arrow` does, and with errors="error" a TextError where
        the text is not UTF-8, with unknown="error" where a character is unknown that is decided now: the chunk is then
        not added, and the stream goes on as if it had not come.
        """
        return self._tokenizer.name_encoding(self._feed(chunk), self.offsets)

    def finish(self) -> Encoding:
        """End the document and get the rest. The next chunk begins another one.

        Raises TextError with errors="error" where the document ends within a character.
        """
        return self._tokenizer.name_encoding(self._finish(), self.offsets)

    def feed_arrow(self, chunks: Any, ends: Any) -> pa.RecordBatch:
        """Add rows of chunks, of one document after the other, in one call.

        `chunks`: what `Tokenizer.encode_arrow` takes. `ends`: a boolean Arrow array of the same length, without nulls:
        whether the document ends with this chunk. Gives one column, `input_ids`: list<int32>, or large_list<int32>
        where there are 2**31 ids or more; one row for each chunk, never null: the ids that are decided with it. Those
        of a document, side by side, are the ids of the whole. The document that is open at the end goes on with the
        next call.

        A null chunk adds nothing, and a document of null chunks only has no ids, not even those of the template. Raises
        what `feed` does; TextError names the row. After an error nothing has been added.
        """
        return self.feed_arrow_counted(chunks, ends)[0]

    def feed_arrow_counted(self, chunks: Any, ends: Any) -> tuple[pa.RecordBatch, Counts]:
        """The same, with what was counted on the way: documents when they end, their bytes and tokens as they come.

        `Counts.nulls`: documents of null chunks only.
        """
        column, counts = self.feed_numbers(chunks, ends)
        return pa.RecordBatch.from_arrays([self._tokenizer.name(column)], names=["input_ids"]), counts

    def feed_numbers(self, chunks: Any, ends: Any) -> tuple[Any, Counts]:
        """The same as the kernel's numbers, for those who keep them; the tokenizer has a `name` for these."""
        encoded, counts = self._feed_rows(chunks, ends)
        column: Any = pa.array(encoded)
        return column, Counts(**counts)

    def to_bytes(self) -> bytes:
        """The state: what is undecided, with the fingerprint of the automaton. Under 1 KB for the vocabularies of BERT,
        with offsets under 2 KB.

        It may be stored, and taken up again by another process, on another machine, at another level of vector
        instructions.
        """
        state: bytes = self._core.to_bytes()
        return state

    @classmethod
    def from_bytes(cls, tokenizer: TextEncoder, state: bytes | bytearray | memoryview) -> Stream:
        """The stream that had this state.

        Raises TypeError where the state is not bytes; AutomatonError where it is damaged, of another version, or of an
        automaton that tokenizes otherwise; ConfigError where the other tokenizer had another `add_special_tokens`.
        """
        stream = cls(tokenizer)
        stream._core = _core.Stream.from_bytes(tokenizer._encoder, state_bytes(state))
        return stream

    def __reduce__(self) -> tuple[Any, ...]:
        return Stream.from_bytes, (self._tokenizer, self.to_bytes())

    def __repr__(self) -> str:
        return f"Stream({self._tokenizer!r}, offsets={self.offsets})"


def state_bytes(state: object) -> bytes:
    """The state of a stream. Raises TypeError for what is none."""
    if not isinstance(state, (bytes, bytearray, memoryview)):
        raise TypeError(f"The state has to be the bytes that to_bytes gave, not {type(state).__name__}.")
    return bytes(state)


def require_streams(tokenizer: TextEncoder) -> None:
    """Raise ConfigError where a document cannot come in pieces."""
    if tokenizer.needs_whole:
        raise ConfigError(
            f"{tokenizer.needs_whole} needs the whole of a word or stretch, so documents cannot come in pieces; give "
            'the texts whole, or compile with backward=False and segmentation="greedy".'
        )


def _bytes(numbers: Any) -> bytes:
    """The values of an array of uint8."""
    buffer = numbers.buffers()[1]
    return b"" if buffer is None else buffer.slice(numbers.offset, len(numbers)).to_pybytes()
