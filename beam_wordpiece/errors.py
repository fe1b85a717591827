"""The exceptions of this package, one small tree, and its one warning.

Every message names the file, row or token that is at fault, says what is wrong with it, and what to do.
"""

import sys
import warnings

# The way out for whoever looks for keywords with something else.
KEYWORDS_BY = "keywords are found by a dictionary (`beam-wordpiece dictionary entries.txt -o names.bwp`)"
# The fault of a text that is refused, where nothing else is said.
NOT_UTF8 = "is not UTF-8; repair it, or set `errors` to replace."


class WordPieceError(Exception):
    """Base of every error that this package raises on purpose."""


class VocabularyError(WordPieceError):
    """A vocabulary or tokenizer file that cannot be used, or an option that it asks for and that is not supported."""


class VocabularyWarning(UserWarning):
    """A vocabulary file that is read as HF `tokenizers` reads it and that was probably meant otherwise."""


def warn_of_vocabulary(message: str) -> None:
    """Warn with VocabularyWarning, at the line outside of this package that asked for the vocabulary."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(f"{__package__}."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, VocabularyWarning, stacklevel=level)


class AutomatonError(WordPieceError):
    """An automaton file that is damaged, cut off, of another version, or not an automaton at all."""


class ConfigError(WordPieceError):
    """A configuration file or command-line value that is unknown, missing or contradictory."""


class InputError(WordPieceError):
    """An input file, column or Arrow array that cannot be read as text."""


class TextError(InputError):
    """Text that is refused: it is not UTF-8 where that was asked to be an error, it has an unknown character where that
    was, or it is too long for what was asked.

    `row` is its index in the array, from 0. `fault` says what is wrong with it and what to do, to be put behind words
    that name it.
    """

    def __init__(self, message: str, row: int, fault: str = NOT_UTF8) -> None:
        super().__init__(message, row, fault)
        self.row = row
        self.fault = fault

    def __str__(self) -> str:
        return str(self.args[0])
