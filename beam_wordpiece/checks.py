"""Checks of texts, paths and files from outside: Python's strings hold more than UTF-8 and file systems do."""

from __future__ import annotations

import os
from pathlib import Path

from beam_wordpiece.errors import WordPieceError

# The code points with the Unicode property White_Space: what HF splits text at, and takes off the end of a line.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

# What the file of an automaton or a dictionary begins with.
AUTOMATON_MAGIC = b"BeamWP\r\n"


def is_text(value: object) -> bool:
    """Whether a value is a str that can be written as UTF-8 (no lone surrogates)."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_entry(line: str) -> bool:
    """Whether a line reads as an entry `<key>:<id>` of a dictionary."""
    key, _, id = line.rpartition(":")
    return key != "" and id != ""


def require_path(path: str | os.PathLike[str], kind: type[WordPieceError]) -> None:
    """Raise an error of the `kind` where no file can have this path. One that is not UTF-8 some file can have."""
    try:
        possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise kind(f"{os.fspath(path)!r} has a character that no path of a file can have; correct it.")


def is_automaton(path: Path) -> bool:
    """Whether this is an automaton file, whole or damaged, by how it begins. Raises OSError."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(AUTOMATON_MAGIC)) == AUTOMATON_MAGIC


def path_of_automaton(automaton: str | os.PathLike[str], what: str = "automaton") -> str:
    """The path of an automaton, or `what` it is, as a str. Raises TypeError for what is no path, such as itself."""
    try:
        return os.fspath(automaton)
    except TypeError:
        raise TypeError(
            f"The {what} has to be the path of its file, not {type(automaton).__name__}: workers open it "
            "themselves. Save it, and give the path."
        ) from None
