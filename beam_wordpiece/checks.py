"""Checks of texts and paths that come from outside: Python's strings hold more than UTF-8 and file systems do."""

from __future__ import annotations

import os

from beam_wordpiece.errors import WordPieceError

# The code points with the Unicode property White_Space: what HF splits text at, and takes off the end of a line.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def is_text(value: object) -> bool:
    """Whether a value is a str that can be written as UTF-8 (no lone surrogates)."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def require_path(path: str | os.PathLike[str], kind: type[WordPieceError]) -> None:
    """Raise an error of the `kind` where no file can have this path. One that is not UTF-8 some file can have."""
    try:
        possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise kind(f"{os.fspath(path)!r} has a character that no path of a file can have; correct it.")
