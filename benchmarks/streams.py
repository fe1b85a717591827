"""Documents in pieces beside whole ones: what feeding costs, by the size of the chunks.

    python -m benchmarks.streams                 # en_books and bert-base-uncased
    python -m benchmarks.streams --corpus help_ko --vocabulary bert-base-multilingual-cased --megabytes 4

CPU time of the process, one thread; whole documents and chunks take turns, and the ratio is that of their medians. The
ids are compared. Whole: one call of `Tokenizer.encode` with all of the text as one document. Chunks: `Stream.feed` with
bytes, each chunk a call, and for chunks of a byte a tenth of a megabyte of the text. Rows: `Stream.feed_arrow` with
chunks of documents as rows, beside `Tokenizer.encode_arrow` with the documents.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import beam_wordpiece as bw
from benchmarks import texts

SIZES = (1 << 20, 1 << 16, 4096, 512, 64, 8, 1)
ROUNDS = 9
# Chunks of a byte take a microsecond each.
MOST_CALLS = 100_000


def measure(tokenizer: bw.Tokenizer, documents: Sequence[str]) -> list[tuple[str, int, float, float]]:
    """For each way to feed: its name, the bytes of a chunk, time in that of whole documents, and microseconds a chunk.

    Raises AssertionError where the ids are others.
    """
    text = "\n".join(documents).encode()
    rows = []
    for size in SIZES:
        part = text[: size * MOST_CALLS]
        whole, chunks = part.decode("utf-8", "ignore"), [part[i : i + size] for i in range(0, len(part), size)]
        stream = bw.Stream(tokenizer)
        ids = [*itertools.chain.from_iterable(stream.feed(chunk).ids for chunk in chunks), *stream.finish().ids]
        assert ids == tokenizer.encode(part.decode("utf-8", "replace")).ids, size
        seconds = _turns(lambda whole=whole: tokenizer.encode(whole), lambda chunks=chunks: _feed(tokenizer, chunks))
        rows.append(("chunks", size, seconds[1] / seconds[0], seconds[1] / len(chunks) * 1e6))
    for size in (1 << 16, 4096, 512, 64):
        rows.append(("rows", size, *_rows(tokenizer, documents, size)))
    return rows


def _feed(tokenizer: bw.Tokenizer, chunks: Sequence[bytes]) -> None:
    stream = bw.Stream(tokenizer)
    for chunk in chunks:
        stream.feed(chunk)
    stream.finish()


def _rows(tokenizer: bw.Tokenizer, documents: Sequence[str], size: int) -> tuple[float, float]:
    pieces, ends = [], []
    for document in map(str.encode, documents):
        parts = [document[i : i + size] for i in range(0, max(1, len(document)), size)]
        pieces += parts
        ends += [False] * (len(parts) - 1) + [True]
    whole, chunks, flags = pa.array(documents), pa.array(pieces, pa.binary()), pa.array(ends)
    ids: Any = bw.Stream(tokenizer).feed_arrow(chunks, flags).column("input_ids")
    expected: Any = tokenizer.encode_arrow(whole).column("input_ids")
    assert ids.flatten().equals(expected.flatten()), size
    seconds = _turns(lambda: tokenizer.encode_arrow(whole), lambda: bw.Stream(tokenizer).feed_arrow(chunks, flags))
    return seconds[1] / seconds[0], seconds[1] / len(pieces) * 1e6


def _turns(*ways: Callable[[], Any]) -> list[float]:
    """The median of the seconds of each way; they take turns."""
    seconds: list[list[float]] = [[] for _ in ways]
    for _ in range(ROUNDS):
        for way, taken in zip(ways, seconds, strict=True):
            start = time.process_time()
            way()
            taken.append(time.process_time() - start)
    return [statistics.median(taken[1:]) for taken in seconds]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--shared", type=Path, default=texts.shared_folder(), help="where the corpora are")
    parser.add_argument("--corpus", default="en_books")
    parser.add_argument("--vocabulary", default="bert-base-uncased")
    parser.add_argument("--megabytes", type=float, default=8.0)
    options = parser.parse_args(argv)
    documents = texts.corpus(options.shared / "corpora" / f"{options.corpus}.parquet", options.megabytes)
    tokenizer = bw.Tokenizer(bw.Automaton.compile(options.shared / "vocabs" / options.vocabulary))
    print(f"{'':8} {'bytes':>9} {'x whole':>9} {'us a chunk':>11}")
    for name, size, ratio, microseconds in measure(tokenizer, documents):
        print(f"{name:8} {size:9,} {ratio:9.2f} {microseconds:11.2f}")


if __name__ == "__main__":
    main()
