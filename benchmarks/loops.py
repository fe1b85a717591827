"""What people write by hand instead of the pipeline: loops over Parquet files, run as processes of their own.

    python -m benchmarks.loops bare|nanotoken|datasets --input FOLDER --vocabulary tokenizer.json --output FOLDER

Each writes the ids of the column `text` in its place and passes the other columns through, with special tokens, on one
core. `benchmarks.pipeline` measures them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Job = Callable[[Path, Path], None]
"""Tokenizes one file to another."""

TEXT = "text"
# Bytes of text in a call of a tokenizer, as the pipeline has them, and of ids in a row group.
BLOCK_BYTES = 4 << 20
GROUP_BYTES = 32 << 20


def blocks(file: pq.ParquetFile, batch_rows: int) -> Iterator[pa.Table]:
    """The rows of a file, some MB at a time."""
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in file.iter_batches(batch_rows, use_threads=False):
        pending.append(batch)
        size += batch.nbytes
        if size >= BLOCK_BYTES:
            yield pa.Table.from_batches(pending)
            pending, size = [], 0
    if pending:
        yield pa.Table.from_batches(pending)


def loop(source: Path, target: Path, encode: Callable[[pa.ChunkedArray], pa.Array], **writing: Any) -> None:
    """Read, encode and write a file. `encode`: texts to lists of ids. `writing`: keywords of the Parquet writer."""
    file = pq.ParquetFile(source, pre_buffer=False)
    others = [field for field in file.schema_arrow if field.name != TEXT]
    schema = pa.schema([*others, pa.field("input_ids", pa.list_(pa.int32()))])
    # So many rows that a batch has about 512 KB, as the pipeline reads them.
    encoded = sum(file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups))
    rows = max(1, (512 << 10) * file.metadata.num_rows // max(1, encoded))
    pending: list[pa.Table] = []
    with pq.ParquetWriter(target, schema, **writing) as writer:
        for table in blocks(file, rows):
            columns = [table.column(field.name) for field in others]
            pending.append(pa.Table.from_arrays([*columns, encode(table.column(TEXT))], schema=schema))
            if sum(part.nbytes for part in pending) >= GROUP_BYTES:
                write_group(writer, pending)
                pending = []
        if pending:
            write_group(writer, pending)


def write_group(writer: pq.ParquetWriter, tables: list[pa.Table]) -> None:
    """Write tables as one row group."""
    group = pa.concat_tables(tables).unify_dictionaries()
    writer.write_table(group, row_group_size=max(1, group.num_rows))


def bare(vocabulary: str) -> Job:
    """The loop around `Tokenizer.encode_arrow`, with the batches and the encodings of the pipeline."""
    import beam_wordpiece as bw

    tokenizer = bw.Tokenizer(bw.Automaton.compile(vocabulary))

    def job(source: Path, target: Path) -> None:
        names = [name for name in pq.read_schema(source).names if name != TEXT]
        loop(
            source,
            target,
            lambda texts: tokenizer.encode_arrow(texts).column(0),
            compression="zstd",
            use_dictionary=names,
            column_encoding={"input_ids.list.element": "BYTE_STREAM_SPLIT"},
            write_statistics=names,
        )

    return job


def nanotoken(vocabulary: str) -> Job:
    """A loop around nanotoken: no Python object for an id, and pyarrow's own way to write zstd."""
    import nanotoken

    tokenizer = nanotoken.Tokenizer(vocabulary)

    def encode(texts: pa.ChunkedArray) -> pa.Array:
        encoded = tokenizer.encode_batch(texts.to_pylist(), parallel=False)
        return pa.ListArray.from_arrays(encoded.offsets.astype("int32"), encoded.ids.view("int32"))

    return lambda source, target: loop(source, target, encode, compression="zstd")


def datasets(vocabulary: str) -> Job:
    """What the documentation of HuggingFace datasets shows: `map` with a fast tokenizer; then a Parquet file."""
    from datasets import Dataset
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(vocabulary)
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def encode(batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        return {"input_ids": [encoding.ids for encoding in tokenizer.encode_batch_fast(batch[TEXT])]}

    def job(source: Path, target: Path) -> None:
        dataset = Dataset.from_parquet(str(source), cache_dir=str(target.with_suffix(".cache")))
        dataset.map(encode, batched=True, remove_columns=[TEXT]).to_parquet(str(target))

    return job


LOOPS: dict[str, Callable[[str], Job]] = {"bare": bare, "nanotoken": nanotoken, "datasets": datasets}


def main() -> None:
    """Run one of the loops."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loop", choices=LOOPS)
    for flag in ("--input", "--vocabulary", "--output"):
        parser.add_argument(flag, required=True)
    arguments = parser.parse_args()
    # Before anything starts threads: CPU seconds are compared, and threads that wait for work would spend some.
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
    job = LOOPS[arguments.loop](arguments.vocabulary)
    os.makedirs(arguments.output, exist_ok=True)
    for source in sorted(Path(arguments.input).glob("*.parquet")):
        job(source, Path(arguments.output, source.name))


if __name__ == "__main__":
    main()
