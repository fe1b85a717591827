"""What the writer's choices cost: the id column of a corpus, for each encoding, codec, level, statistics and page size.

    python -m benchmarks.writing --corpus corpus.parquet --vocabulary tokenizer.json

The ids are made once and kept in memory; each choice then writes them to a file, in row groups as the pipeline closes
them, and reads them back. Shown are CPU seconds of this process (one thread; medians of rounds that go through all
choices in turn, so that a slow minute of a shared machine falls on all of them) and the bytes of the file. Needs the
package and nothing else.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import beam_wordpiece as bw

IDS = "input_ids.list.element"
ENCODINGS = {"byte_stream_split": "BYTE_STREAM_SPLIT", "delta": "DELTA_BINARY_PACKED", "plain": "PLAIN"}


@dataclass(frozen=True)
class Choice:
    """How the ids are written; the defaults are the pipeline's.

    `level`: None is pyarrow's own. `page_kb`, `group_mb`: sizes before compression. `batch`: values encoded at once.
    """

    encoding: str = "byte_stream_split"
    codec: str = "zstd"
    level: int | None = None
    statistics: bool = False
    page_kb: int = 1024
    version: str = "1.0"
    group_mb: int = 32
    nullable: bool = True
    batch: int = 1024

    def __str__(self) -> str:
        level = "" if self.level is None else f" {self.level}"
        extras = [f"pages {self.page_kb} KB v{self.version}", f"groups {self.group_mb} MB", f"by {self.batch}"]
        extras += ["statistics"] * self.statistics + ["ids not null"] * (not self.nullable)
        return f"{self.encoding:18s}{self.codec + level:10s}{', '.join(extras)}"

    def open(self, path: Path, schema: pa.Schema) -> pq.ParquetWriter:
        """A writer for these choices."""
        encoding = ENCODINGS.get(self.encoding)
        compression: Any = self.codec
        return pq.ParquetWriter(
            path,
            schema,
            compression=compression,
            compression_level=self.level,
            use_dictionary=encoding is None,
            column_encoding=None if encoding is None else {IDS: encoding},
            write_statistics=self.statistics,
            data_page_size=self.page_kb << 10,
            data_page_version=self.version,
            write_batch_size=self.batch,
        )


def choices() -> list[Choice]:
    """What is compared: encodings by codecs, then one thing after the other changed from the default."""
    best = Choice()
    codecs = [("none", None), ("snappy", None), ("lz4", None), ("zstd", None)]
    tables = [Choice(encoding, *codec) for encoding in (*ENCODINGS, "dictionary") for codec in codecs]
    levels = [replace(best, level=level) for level in (-20, -7, -5, -3, -2, -1, 1, 2, 3, 6)]
    pages = [replace(best, page_kb=size) for size in (64, 256, 512, 2048, 4096)]
    groups = [replace(best, group_mb=size) for size in (8, 16, 64, 128)]
    others = [replace(best, statistics=True), replace(best, version="2.0"), replace(best, nullable=False)]
    others += [replace(best, batch=size) for size in (256, 4096, 16384, 65536)]
    return [*tables, *levels, *pages, *groups, *others]


def id_tables(corpus: str, vocabulary: str, column: str) -> list[pa.Table]:
    """The ids of all documents, in tables of a few MB of text."""
    tokenizer = bw.Tokenizer(bw.Automaton.compile(vocabulary))
    batches = pq.ParquetFile(corpus).iter_batches(4096, columns=[column], use_threads=False)
    return [pa.Table.from_batches([tokenizer.encode_arrow(batch.column(0))]) for batch in batches]


def row_groups(tables: list[pa.Table], size: int) -> Iterator[pa.Table]:
    """The tables, joined until `size` bytes are reached."""
    pending: list[pa.Table] = []
    for table in tables:
        pending.append(table)
        if sum(part.nbytes for part in pending) >= size:
            yield pa.concat_tables(pending)
            pending = []
    if pending:
        yield pa.concat_tables(pending)


def write(choice: Choice, tables: list[pa.Table], path: Path) -> None:
    """Write all tables to one file."""
    item = pa.field("element", pa.int32(), nullable=choice.nullable)
    schema = pa.schema([pa.field("input_ids", pa.list_(item))])
    with choice.open(path, schema) as writer:
        for group in row_groups(tables, choice.group_mb << 20):
            writer.write_table(group.cast(schema), row_group_size=group.num_rows)


def read(path: Path) -> None:
    """Read all rows of a file, row group by row group."""
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        file.read_row_group(group, use_threads=False)


def seconds(work: Callable[[], None]) -> float:
    """CPU seconds of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Measure and print a line for each choice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True, help="a Parquet file")
    parser.add_argument("--vocabulary", required=True, help="a tokenizer.json or vocab.txt")
    parser.add_argument("--text-column", default="text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="measure the choices whose line holds this text")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    tables = id_tables(arguments.corpus, arguments.vocabulary, arguments.text_column)
    compared = [choice for choice in choices() if arguments.only in str(choice)]
    written: dict[Choice, list[float]] = {choice: [] for choice in compared}
    loaded: dict[Choice, list[float]] = {choice: [] for choice in compared}
    sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ids.parquet")
        for _ in range(arguments.rounds):
            for choice in compared:
                written[choice].append(seconds(lambda choice=choice: write(choice, tables, path)))
                loaded[choice].append(seconds(lambda: read(path)))
                sizes[choice] = path.stat().st_size
    tokens = sum(len(table["input_ids"].combine_chunks().values) for table in tables)
    print(f"{tokens:,} ids, pyarrow {pa.__version__}\n  write s   read s       MB")
    for choice in compared:
        times = statistics.median(written[choice]), statistics.median(loaded[choice])
        print(f"{times[0]:9.3f}{times[1]:9.3f}{sizes[choice] / 1e6:9.2f}  {choice}")


if __name__ == "__main__":
    main()
