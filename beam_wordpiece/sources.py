"""The formats that a file can have, and what reads each of them. No Beam in here."""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from beam_wordpiece.config import FileSettings
from beam_wordpiece.parquet import footer_digest
from beam_wordpiece.parquet_source import DocumentSource, RowSource
from beam_wordpiece.text_source import COMPRESSIONS, SUFFIXES, TextSource, ends_digest
from beam_wordpiece.tokenizer import Counts, TextEncoder


class Source(Protocol):
    """An open input file. `schema` is that of its output."""

    schema: pa.Schema

    def tables(self, tokenizer: TextEncoder) -> Iterator[tuple[pa.Table, Counts, float]]:
        """Rows of the output in order, what was counted, and the bytes of the input they stand for."""


def open_source(
    file: pa.NativeFile, settings: FileSettings, where: str, id_type: pa.DataType = TextEncoder.id_type
) -> Source:
    """What reads the file of the path `where`; `id_type` is the type of an id.

    Raises InputError where it does not fit the settings.
    """
    if is_text(where, settings.format):
        return TextSource(file, settings, where, id_type)
    kind = RowSource if settings.document_column is None else DocumentSource
    return kind(file, settings, where, id_type)


def input_digest(file: pa.NativeFile, format: str, where: str) -> str:
    """What tells a file from others of its size without reading it: of Parquet the footer, of text its two ends.

    Raises InputError where Parquet does not begin and end as it does.
    """
    return ends_digest(file) if is_text(where, format) else footer_digest(file, where)


def output_suffix(path: str, format: str) -> str:
    """What the name of an output has behind that of its input."""
    return ".parquet" if is_text(path, format) else ""


def is_text(path: str, format: str) -> bool:
    """Whether a file is text, by the setting `format` or by its name."""
    if format != "auto":
        return format == "text"
    name, suffix = os.path.splitext(path.lower())
    return (name if suffix in COMPRESSIONS else name + suffix).endswith(SUFFIXES)
