"""The terminal: text in its columns, and what comes from standard input."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence
from typing import BinaryIO

from beam_wordpiece.errors import InputError


def standard_input() -> BinaryIO:
    """Its bytes. Raises InputError where there is none."""
    if sys.stdin is None:
        raise InputError("standard input is closed; give it some text, or name a file.")
    return sys.stdin.buffer


def visible(text: str) -> str:
    """The text with an escape for each character that a terminal does not show."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def cells(text: str) -> int:
    """How many columns of a terminal a text takes: two for a wide character, none for a combining one."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1 for c in text
    )


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of the rows, which all have the same length, in columns as wide as they have to be."""
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text + " " * (width - cells(text)) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
