"""The texts of files, for the commands that read some: rows of Parquet, or else lines."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from beam_wordpiece.arrow_text import text_bytes
from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import NOT_UTF8, InputError, TextError
from beam_wordpiece.parquet import Layout, open_parquet, read_blocks
from beam_wordpiece.settings import ERRORS
from beam_wordpiece.terminal import standard_input
from beam_wordpiece.text_source import read_lines

STANDARD_INPUT = "-"
FILES_HELP = "text: .parquet, or any other with a document a line, also .gz or .zst; - is standard input"
# Seconds after which a bar is shown: what is done by then needs none.
BAR_DELAY = 1.0


class FileTexts(NamedTuple):
    """Some texts of a file, which follow each other. `first`: the number of the first of them in the file, from 0."""

    path: str
    first: int
    texts: pa.Array[Any]

    def number(self, row: int) -> int:
        """How people call the text in a row of `texts`: lines count from 1, as in editors, rows of Parquet from 0."""
        return self.first + row + (not is_parquet(self.path))

    def refused(self, error: TextError) -> InputError:
        """The error about one of the texts."""
        place = f"{'row' if is_parquet(self.path) else 'line'} {self.number(error.row)}"
        if error.fault == NOT_UTF8:
            remedy = "repair it, or give --errors replace to read each bad part as U+FFFD"
            return InputError(f"{self.path}: {place} is not UTF-8 text; {remedy}.")
        return InputError(f"{self.path}: {place} {error.fault}")


def add_text_flags(command: argparse.ArgumentParser) -> None:
    """The flags of a command that reads texts: which, and what is done about those that are not UTF-8."""
    command.add_argument("--column", metavar="NAME", default="text", help="the text column of Parquet (default: text)")
    command.add_argument(
        "--errors",
        choices=ERRORS,
        default="replace",
        help="text that is not UTF-8: U+FFFD for each bad part (default), or an error",
    )


def read_texts(paths: Sequence[str], column: str, bar: bool) -> Iterator[FileTexts]:
    """The texts of the files, in order, some at a time. Raises InputError, OSError.

    A `.parquet` has one in each row of the `column`; any other file one in each line, also compressed (`.gz`, `.zst`).
    `-` is standard input. `bar`: on a terminal a progress bar is drawn over the bytes of the files, and of standard
    input and pipes over those of their texts.
    """
    with _progress_bar(paths, bar) as done:
        before = 0
        for path in paths:
            with _open(path) as opened:
                size = os.path.getsize(path) if path != STANDARD_INPUT else 0
                file, first = pa.PythonFile(opened, mode="r"), 0
                for texts, share in _of_parquet(file, path, column) if is_parquet(path) else _of_lines(file, path):
                    yield FileTexts(path, first, texts)
                    first += len(texts)
                    if path == STANDARD_INPUT or not opened.seekable():
                        before += text_bytes(texts)
                        done(before)
                    else:
                        done(before + (opened.tell() if share is None else round(share * size)))
                before += size


def is_parquet(path: str) -> bool:
    return path.lower().endswith(".parquet")


def _open(path: str) -> contextlib.AbstractContextManager[Any]:
    if path == STANDARD_INPUT:
        given: Any = standard_input()
        # A buffer waits until it is full.
        return contextlib.nullcontext(getattr(given, "raw", given))
    return open(path, "rb") if is_parquet(path) else open(path, "rb", buffering=0)


def _of_lines(file: pa.NativeFile, path: str) -> Iterator[tuple[pa.Array[Any], None]]:
    for lines in read_lines(file, path):
        yield pa.array(lines, pa.large_binary()), None


def _of_parquet(file: pa.NativeFile, path: str, column: str) -> Iterator[tuple[pa.Array[Any], float]]:
    """Texts, and which share of the file is done with them."""
    parquet = open_parquet(file, path)
    layout = Layout(parquet.schema_arrow, FileSettings(text_column=column, columns=()), path)
    rows = 0
    for blocks in read_blocks(parquet, layout, path):
        for batch in blocks:
            rows += batch.num_rows
            yield layout.texts(batch), rows / parquet.metadata.num_rows


@contextlib.contextmanager
def _progress_bar(paths: Sequence[str], wanted: bool) -> Iterator[Any]:
    """A function that is told how many bytes are done, and shows it if that is wanted and there is a terminal."""
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        wanted = False
    if not (wanted and sys.stderr.isatty()):
        yield lambda done: None
        return
    total = None if STANDARD_INPUT in paths else sum(map(os.path.getsize, paths))
    with tqdm(total=total, unit="B", unit_scale=True, file=sys.stderr, delay=BAR_DELAY, leave=False) as bar:
        yield lambda done: bar.update(done - bar.n)
