"""What people read Parquet with reads the outputs: each reader that is installed here gives the same ids."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from packaging.version import Version

from tests import corpus
from tests.corpus import Run

Rows = list[list[int] | None]


def read_with_pyarrow(path: Path, _: Any) -> Rows:
    return pq.read_table(path)["input_ids"].to_pylist()


def read_with_pyarrow_dataset(path: Path, _: Any) -> Rows:
    return pa.dataset.dataset(path).to_table(columns=["input_ids"])["input_ids"].to_pylist()


def read_with_duckdb(path: Path, duckdb: Any) -> Rows:
    return [row[0] for row in duckdb.read_parquet(str(path)).project("input_ids").fetchall()]


def read_with_polars(path: Path, polars: Any) -> Rows:
    ids = polars.scan_parquet(path).select("input_ids").collect()["input_ids"]
    return [None if row is None else list(row) for row in ids.to_list()]


def read_with_pandas(path: Path, pandas: Any) -> Rows:
    ids = pandas.read_parquet(path, columns=["input_ids"])["input_ids"]
    return [None if row is None else row.tolist() for row in ids]


def read_with_datasets(path: Path, datasets: Any) -> Rows:
    cache = str(path.with_suffix(".cache"))
    return list(datasets.Dataset.from_parquet(str(path), cache_dir=cache)["input_ids"])


def read_with_fastparquet(path: Path, fastparquet: Any) -> Rows:
    ids = fastparquet.ParquetFile(str(path)).to_pandas(columns=["input_ids"]).iloc[:, 0]
    return [None if row is None else [int(number) for number in row] for row in ids]


# The function, the package, and a version from which it reads BYTE_STREAM_SPLIT of integers (None: there is none). What
# reads with pyarrow does so from its first version on.
READERS: dict[str, tuple[Callable[[Path, Any], Rows], str, str | None]] = {
    "pyarrow": (read_with_pyarrow, "pyarrow", "16.1"),
    "pyarrow.dataset": (read_with_pyarrow_dataset, "pyarrow", "16.1"),
    "duckdb": (read_with_duckdb, "duckdb", "2.0"),
    "polars": (read_with_polars, "polars", "1.20"),
    "pandas": (read_with_pandas, "pandas", "0"),
    "datasets": (read_with_datasets, "datasets", "0"),
    "fastparquet": (read_with_fastparquet, "fastparquet", None),
}


@pytest.mark.filterwarnings("ignore")  # of the readers
@pytest.mark.parametrize("compression", ["zstd", "snappy", "lz4"])
@pytest.mark.parametrize("encoding", ["byte_stream_split", "dictionary", "plain"])
@pytest.mark.parametrize("reader", READERS)
def test_a_reader_gives_the_ids_that_were_written(
    tmp_path: Path, tokenizer: Any, reader: str, encoding: str, compression: str
) -> None:
    read, package, first = READERS[reader]
    module = pytest.importorskip(package)
    if encoding == "byte_stream_split" and (first is None or Version(module.__version__) < Version(first)):
        pytest.skip(f"{package} {module.__version__} does not read {encoding}; `encoding: dictionary` is for it")
    texts = corpus.write(tmp_path, {"in.parquet": 700})["in.parquet"]["text"]
    run: Run = corpus.runner(tmp_path, tokenizer)
    run(encoding=encoding, compression=compression)
    expected = tokenizer.encode_arrow(texts).column("input_ids").to_pylist()
    assert None in expected
    assert read(tmp_path / "out.parquet", module) == expected
