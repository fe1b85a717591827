"""Small Parquet corpora for the tests of files and pipelines."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tokenizers import Tokenizer

import beam_wordpiece as bw
from beam_wordpiece.config import FileSettings
from beam_wordpiece.io import FileResult, FileTask, tokenize_file

SENTENCE = (
    "the quick brown fox jumps over unaffable dogs don't re-tokenize Über café naïve 日本語 한국어 नमस्ते Ελλάς مرحبا "
    "[SEP] [MASK] ##ing 3.14 x̌ supercalifragilistic \u200b \t … zzqqxx"
)
WORDS = SENTENCE.split(" ")


def texts(count: int, seed: int) -> list[str | None]:
    """Made texts of 0 to 80 words; some are null, some empty."""
    chance = random.Random(seed)
    return [None if row % 17 == 5 else " ".join(chance.choices(WORDS, k=chance.randint(0, 80))) for row in range(count)]


def table(count: int, seed: int) -> pa.Table:
    """Rows with an id, a text, a number, a list, and a dictionary column."""
    return pa.table(
        {
            "doc_id": [f"{seed}-{row}" for row in range(count)],
            "text": pa.array(texts(count, seed), pa.string()),
            "score": pa.array([row / 7 for row in range(count)], pa.float32()),
            "tags": [[f"t{row % 3}"] * (row % 4) for row in range(count)],
            "source": pa.array([f"s{row % 5}" for row in range(count)]).dictionary_encode(),
        }
    )


def write(folder: Path, names: dict[str, int]) -> dict[str, pa.Table]:
    """Write a file of so many rows under each name below `folder`, in row groups of 100 rows; give the tables."""
    tables = {name: table(rows, seed) for seed, (name, rows) in enumerate(names.items())}
    for name, content in tables.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(content, folder / name, row_group_size=100)
    return tables


def touch(root: Path, *names: str) -> None:
    """Make empty files below a folder."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


def ids(hf: Tokenizer, column: pa.ChunkedArray) -> list[list[int] | None]:
    """What HF gives for a column of text."""
    return [None if text is None else hf.encode(text).ids for text in column.to_pylist()]


def files(folder: Path) -> dict[str, bytes]:
    """The content of all files below a folder, by relative path; automata left out."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".bwp")
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(paths)}


Run = Callable[..., FileResult]


def runner(folder: Path, tokenizer: bw.Tokenizer) -> Run:
    """A function that tokenizes `in.parquet` of the folder to `out.parquet`, with the settings given by keyword."""

    def run(**settings: object) -> FileResult:
        chosen = FileSettings(**settings)  # type: ignore[arg-type]
        other = chosen.errors != tokenizer.errors or not chosen.add_special_tokens
        used = bw.Tokenizer(tokenizer.automaton, chosen.add_special_tokens, chosen.errors) if other else tokenizer
        task = FileTask(str(folder / "in.parquet"), str(folder / "out.parquet"))
        return tokenize_file(task, used, chosen, lambda counts, size: None)

    return run
