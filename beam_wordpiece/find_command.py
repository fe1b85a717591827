"""Where the keys of a dictionary stand in files: the command `beam-wordpiece find`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from beam_wordpiece.dictionary import Dictionary
from beam_wordpiece.errors import TextError
from beam_wordpiece.file_texts import FILES_HELP, STANDARD_INPUT, FileTexts, add_text_flags, read_texts
from beam_wordpiece.terminal import visible
from beam_wordpiece.vocab_source import load_dictionary

FIND_EXAMPLES = """\
examples:
  beam-wordpiece find names.bwp books.txt part-*.parquet          leftmost and longest, nothing overlaps
  beam-wordpiece find entries.txt --overlapping < log.txt         every occurrence, also within others
  beam-wordpiece find names.bwp in.parquet --column body --json   an object a line, for programs
  tail -f log.txt | beam-wordpiece find names.bwp                 what is found in a line, when it is written

In each line stand, with tabs between them: the file, the line of the text in it (from 1; of Parquet the row, from 0),
the first character of the occurrence and the end of its last (from 0), the id, and the key. What a terminal does not
show is escaped there. Exit status 0, also where nothing is found; 2 where it cannot be done.
"""


class Occurrence(NamedTuple):
    """A key in a file; see FIND_EXAMPLES."""

    file: str
    row: int
    start: int
    end: int
    id: str
    key: str


def add_find_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "dictionary", metavar="DICTIONARY", help="a compiled dictionary, or a text file with an entry in each line"
    )
    command.add_argument(
        "files", metavar="FILE", nargs="*", help=f"{FILES_HELP}, and so is none (default)", default=[STANDARD_INPUT]
    )
    command.add_argument("--overlapping", action="store_true", help="every occurrence of every key, also within others")
    command.add_argument("--json", action="store_true", help="one JSON object an occurrence, for programs")
    add_text_flags(command)


def find(options: argparse.Namespace) -> None:
    """Run the command."""
    dictionary = load_dictionary(options.dictionary, options.errors)
    dictionary.require_forward()
    # A bar would stand between the lines of a terminal.
    for some in read_texts(options.files, options.column, bar=not sys.stdout.isatty()):
        for occurrence in _occurrences(dictionary, some, options.overlapping):
            print(json.dumps(occurrence._asdict()) if options.json else _line(occurrence))
        # More of a pipe may come much later.
        sys.stdout.flush()


def _occurrences(dictionary: Dictionary, some: FileTexts, overlapping: bool) -> Iterator[Occurrence]:
    """The occurrences in some texts of a file, one text after the other. Raises InputError."""
    try:
        found: Any = dictionary.find_arrow(some.texts, overlapping=overlapping)
    except TextError as error:
        raise some.refused(error) from error
    lengths: Any = pc.fill_null(pc.list_value_length(found), 0)
    for row in pc.indices_nonzero(lengths).to_pylist():
        text = some.texts[row].cast(pa.large_binary()).as_py().decode("utf-8", "replace")
        number = some.number(row)
        for one in found[row].as_py():
            start, end = one["start"], one["end"]
            yield Occurrence(some.path, number, start, end, one["id"], text[start:end])


def _line(occurrence: Occurrence) -> str:
    return "\t".join(visible(str(value)) for value in occurrence)
