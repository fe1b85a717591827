"""Documents that come in pieces, cut anywhere -> the encodings of the whole documents. No Beam in here."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from beam_wordpiece.arrow_text import import_texts
from beam_wordpiece.tokenizer import Counts, Encoding, Tokenizer


class Stream:
    """The encoding of a document that comes in pieces."""

    def __init__(self, tokenizer: Tokenizer, *, offsets: bool = False) -> None:
        self._tokenizer = tokenizer
        self._held = b""

    def feed(self, chunk: Any) -> Encoding:
        """Add a chunk: str, bytes, an Arrow scalar of text, or an Arrow array of consecutive chunks."""
        if isinstance(chunk, str):
            self._held += chunk.encode("utf-8", "surrogatepass")
        elif isinstance(chunk, bytes):
            self._held += chunk
        elif isinstance(chunk, pa.Scalar):
            self._held += chunk.cast(pa.binary()).as_py() or b""
        else:
            self._held += b"".join(part or b"" for part in chunk.cast(pa.large_binary()).to_pylist())
        return Encoding([], [])

    def finish(self) -> Encoding:
        """End the document; the next chunk begins another one."""
        text, self._held = self._held.decode("utf-8", "replace"), b""
        return self._tokenizer.encode(text)

    def feed_arrow(self, chunks: Any, ends: pa.Array[Any]) -> pa.RecordBatch:
        """`feed_arrow_counted` without the counts."""
        return self.feed_arrow_counted(chunks, ends)[0]

    def feed_arrow_counted(self, chunks: Any, ends: pa.Array[Any]) -> tuple[pa.RecordBatch, Counts]:
        """Add rows: `ends` (boolean, as long) says after which of them the document ends.

        Gives a column `input_ids`, list<int32>, one row for each chunk: what was decided with it.
        """
        rows = []
        counts = Counts()
        texts: Any = import_texts(chunks)
        for array in texts.arrays:
            for text in array.cast(pa.large_binary()).to_pylist():
                self._held += text or b""
                counts += Counts(bytes=len(text or b""))
                if ends[len(rows)].as_py():
                    rows.append(self.finish().ids)
                    counts += Counts(documents=1, tokens=len(rows[-1]))
                else:
                    rows.append([])
        column: Any = pa.array(rows, pa.list_(pa.int32()))
        return pa.RecordBatch.from_arrays([column], names=["input_ids"]), counts

    def to_bytes(self) -> bytes:
        """The state."""
        return self._held

    @classmethod
    def from_bytes(cls, tokenizer: Tokenizer, state: bytes) -> Stream:
        """The stream that had this state."""
        stream = cls(tokenizer)
        stream._held = state
        return stream
