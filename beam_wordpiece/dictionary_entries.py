"""Entries `<key>:<id>`: what is read of them, from any iterable or from the lines of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from beam_wordpiece.checks import is_entry, is_text
from beam_wordpiece.dictionary_ids import COLON
from beam_wordpiece.errors import VocabularyError


def read_entries(entries: Iterable[str], where: Callable[[int], str]) -> tuple[dict[str, str], int]:
    """The keys and their ids, and how many entries repeat a key. `where` names an entry by its number, from 0.

    Raises VocabularyError, TypeError.
    """
    ids: dict[str, str] = {}
    number = -1
    for number, entry in enumerate(entries):
        if not isinstance(entry, str):
            raise TypeError(f"{where(number)} has to be a str, not {type(entry).__name__} ({entry!r}).")
        key, colon, id = entry.rpartition(COLON)
        if not (key and id and is_text(entry)):
            raise VocabularyError(f"{where(number)}, {entry!r}, {_fault(key, colon, id)}.")
        ids.setdefault(key, id)
    return ids, number + 1 - len(ids)


def _fault(key: str, colon: str, id: str) -> str:
    form = "an entry is <key>:<id>, such as cat:10"
    if not colon:
        return f"has no colon; {form}"
    if not id:
        return f"has nothing behind its last colon, where the id has to be; {form}"
    if not key:
        return f"has an empty key; {form}"
    return "has half a surrogate pair; correct it"


def has_entries(path: Path, unk_token: str) -> bool:
    """Whether a file is one of entries, and no vocab.txt: most lines read as entries, and none is the unknown token.

    Most, so that a line with a fault is named. Raises OSError.
    """
    if not path.is_file() or path.suffix.lower() == ".json":
        return False
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        return False
    lines = [line for line in (line.removesuffix("\r") for line in text.split("\n")) if line]
    return unk_token not in lines and 2 * sum(map(is_entry, lines)) > len(lines)


def entry_lines(path: Path) -> Iterable[str]:
    """The lines of a text file. Raises VocabularyError, OSError."""
    data = path.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise VocabularyError(f"{path}: line {line} is not UTF-8; save the file as UTF-8.") from error
    if text.startswith("\ufeff"):
        raise VocabularyError(f"{path}: the file begins with a byte order mark; save it as UTF-8 without one.")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return (line.removesuffix("\r") for line in lines)
