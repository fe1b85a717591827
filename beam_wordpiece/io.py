"""Files in, files out: which file goes where, the tokenizer for all, and again only what is missing."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import posixpath
import warnings
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import pyarrow as pa
from apache_beam.io.filesystem import BeamIOError

from beam_wordpiece.automaton import DICTIONARY_MARK, Automaton
from beam_wordpiece.config import FileSettings
from beam_wordpiece.dictionary import open_tokenizer as open_local
from beam_wordpiece.errors import (
    AutomatonError,
    ConfigError,
    InputError,
    VocabularyError,
    VocabularyWarning,
    WordPieceError,
    warn_of_vocabulary,
)
from beam_wordpiece.files import with_name
from beam_wordpiece.parquet_writer import Origin, TokenWriter, read_origin
from beam_wordpiece.sources import input_digest, open_source, output_suffix
from beam_wordpiece.storage import (
    FileVersion,
    file_system,
    has_files_below,
    is_remote,
    join,
    local_copy,
    open_file,
    publish,
    version_of,
)
from beam_wordpiece.tokenizer import Counts, TextEncoder
from beam_wordpiece.vocab import load_vocabulary

AUTOMATON_SUFFIX = ".bwp"
# Bytes of an automaton file in which its description begins.
MARK_WITHIN = 4096
# Copies of remote automata are replaced when the original is.
OPEN_ATTEMPTS = 3


class FileTask(NamedTuple):
    """One file to tokenize: the path of the Parquet or text file to read, and that of the Parquet file to write."""

    input: str
    output: str


class FileResult(NamedTuple):
    """What became of one file.

    `rows`: of the output. `tokens`: ids that this run wrote. `skipped`: the output was there already, and the same.
    `error`: empty, or why there is no new output, and whether an older one was left.
    """

    input: str
    output: str
    rows: int = 0
    tokens: int = 0
    skipped: bool = False
    error: str = ""


Report = Callable[[Counts, float], None]
"""Is told what was counted in a part of a file, and how many bytes of the input file the part stands for."""


def _no_report(counts: Counts, size: float) -> None:
    """Nobody asks."""


# Which files ------------------------------------------------------------------------------------------------------


def plan_tasks(patterns: str | Sequence[str], output: str, format: str = "auto") -> list[FileTask]:
    """The files that the patterns (or one) match, each with the place of its output below the folder `output`, sorted.

    An output has the path of its input from the fixed part of the pattern on: `in/*/x.parquet` to `out` makes
    `out/a/x.parquet` of `in/a/x.parquet`; after the name of a text file comes `.parquet`. `format` says what the inputs
    are, as the setting does. In patterns, `*`, `?` and `[..]` stay within a name, `**` is any number of folders. A file
    that several patterns match is read once. Relative local paths are made absolute.

    Raises InputError where a pattern matches nothing, ConfigError where two inputs would have one output or an output
    would be an input of the next run.
    """
    folder = _absolute(output)
    outputs: dict[str, str] = {}
    full = [_absolute(pattern) for pattern in ([patterns] if isinstance(patterns, str) else patterns)]
    for pattern in full:
        base = _fixed_part(pattern)
        for path in _matches(pattern):
            name = path[len(base) :].lstrip("/") + output_suffix(path, format)
            outputs.setdefault(path, join(folder, name))
    sources: dict[str, str] = {}
    for source, target in sorted(outputs.items()):
        if target in sources:
            raise ConfigError(
                f"{sources[target]} and {source} would both be written to {target}; "
                "give one quoted glob whose fixed part is above both."
            )
        sources[target] = source
        for pattern in full:
            if os.path.realpath(target) == os.path.realpath(source) or _is_match(pattern, target):
                raise ConfigError(
                    f"The output {target} would be an input of the next run, because {pattern} matches it; "
                    "choose an output folder that no input pattern reaches."
                )
    return [FileTask(source, target) for target, source in sources.items()]


def _absolute(path: str) -> str:
    return path if is_remote(path) else os.path.abspath(os.path.expanduser(path))


def _is_glob(pattern: str) -> bool:
    """Whether it is to be matched. A file that has the very name is meant itself."""
    return glob.has_magic(pattern) and (is_remote(pattern) or not os.path.exists(pattern))


def _fixed_part(pattern: str) -> str:
    """The folder above all that the pattern matches."""
    if not _is_glob(pattern):
        return posixpath.dirname(pattern)
    parts = pattern.split("/")
    magic = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    return "/".join(parts[:magic])


def _matches(pattern: str) -> list[str]:
    if not is_remote(pattern):
        return _local_matches(pattern)
    wanted = _fixed_part(pattern) + "/**" if _is_glob(pattern) else pattern
    try:
        listed = file_system(wanted).match([wanted])[0].metadata_list
    except BeamIOError as error:
        raise InputError(f"{pattern} cannot be listed: {' '.join(str(error).split())}.") from error
    found = [item.path for item in listed if not _is_glob(pattern) or _is_match(pattern, item.path)]
    if not found:
        raise InputError(f"{pattern} matches no file.")
    return found


def _local_matches(pattern: str) -> list[str]:
    if os.path.isdir(pattern):
        raise InputError(f"{pattern} is a folder; say which files in it, as in {join(pattern, '*.parquet')}.")
    if not _is_glob(pattern):
        if not os.path.exists(pattern):
            raise InputError(f"{pattern} does not exist.")
        return [pattern]
    found = [path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)]
    if not found:
        raise InputError(f"{pattern} matches no file.")
    return found


def _is_match(pattern: str, path: str) -> bool:
    """Whether a path is one that a pattern stands for, by the rules of Python's recursive glob."""
    if not _is_glob(pattern):
        return pattern == path
    return _parts_match(pattern.split("/"), path.split("/"))


def _parts_match(pattern: list[str], path: list[str]) -> bool:
    if not pattern or not path:
        return not path and all(part == "**" for part in pattern)
    hidden = path[0].startswith(".") and not pattern[0].startswith(".")
    if pattern[0] == "**":
        return _parts_match(pattern[1:], path) or (not hidden and _parts_match(pattern, path[1:]))
    return not hidden and fnmatchcase(path[0], pattern[0]) and _parts_match(pattern[1:], path[1:])


# The tokenizer ----------------------------------------------------------------------------------------------------


def prepare_automaton(tokenizer: str, options: Mapping[str, Any], folder: str) -> str:
    """The path of an automaton that workers can open.

    `tokenizer`: a path that ends in `.bwp` is an automaton or a dictionary, and checked; anything else is a vocabulary,
    and compiled with the `options` (`Automaton.compile`) to `_automaton-FINGERPRINT.bwp` in `folder`. The file stays
    there: whoever wants to decode the ids finds it beside them, and readers of Parquet folders pass over names that
    begin with `_`.
    One that is there already is written again where it is damaged or of another version of the format.

    Raises ConfigError, VocabularyError, AutomatonError, OSError.
    """
    source = _absolute(tokenizer)
    if is_remote(source) and has_files_below(source):
        raise ConfigError(
            f"{source} is a folder, and tokenizer folders are read where they are local; give the tokenizer.json or"
            " vocab.txt in it."
        )
    if version_of(source) is None:
        raise ConfigError(f"The tokenizer {source} does not exist.")
    if source.endswith(AUTOMATON_SUFFIX):
        if options:
            raise ConfigError(f"{source} is compiled already; leave out the options ({', '.join(options)}).")
        open_tokenizer(source)
        return source
    automaton = _compile(source, options)
    path = join(_absolute(folder), f"_automaton-{automaton.fingerprint}{AUTOMATON_SUFFIX}")
    if not _is_automaton(path, automaton.fingerprint):
        with publish(path) as file:
            file.write(automaton.to_bytes())
    return path


def open_tokenizer(path: str, add_special_tokens: bool = True, errors: str = "replace") -> TextEncoder:
    """Map an automaton or a dictionary, whichever it is; of a remote one its copy on this host.

    Raises AutomatonError, InputError, OSError.
    """
    for attempt in range(OPEN_ATTEMPTS):
        copy = local_copy(path)
        try:
            return open_local(copy, add_special_tokens, errors)
        except FileNotFoundError as error:
            # A newer version took the place of the copy just now.
            if copy == path or attempt == OPEN_ATTEMPTS - 1:
                raise with_name(error, path) from error
        except AutomatonError as error:
            raise AutomatonError(str(error).replace(copy, path)) from error
    raise AssertionError("the last attempt returns or raises")


def is_dictionary(path: str) -> bool:
    """Whether the file is a dictionary, by how it begins, of a remote one its copy; False where it cannot be read."""
    try:
        with open_file(local_copy(path)) as file:
            return DICTIONARY_MARK.encode() in file.read(MARK_WITHIN)
    except (WordPieceError, OSError):
        return False


def _is_automaton(path: str, fingerprint: str) -> bool:
    """Whether the file is there, whole, and this automaton."""
    if version_of(path) is None:
        return False
    try:
        return open_tokenizer(path).fingerprint == fingerprint
    except AutomatonError:
        return False


def _compile(source: str, options: Mapping[str, Any]) -> Automaton:
    """Compile a vocabulary. What it says about itself and in messages is the path given, not that of a copy."""
    copy = local_copy(source)
    if copy == source:
        return Automaton.compile(source, **options)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", VocabularyWarning)
            vocabulary = load_vocabulary(copy, **options)
    except VocabularyError as error:
        raise VocabularyError(str(error).replace(copy, source)) from error
    for warning in caught:
        warn_of_vocabulary(str(warning.message).replace(copy, source))
    return Automaton.compile(dataclasses.replace(vocabulary, source=source))


# One file ---------------------------------------------------------------------------------------------------------


def tokenize_file(
    task: FileTask, tokenizer: TextEncoder, settings: FileSettings, report: Report = _no_report
) -> FileResult:
    """Read, tokenize and write one file; or find that it was done before.

    The output appears whole or not at all, and equal inputs, tokenizers and settings give equal bytes. Memory: a block
    of rows or of text, a row group of the output, and a row of it, whatever the size of the file. Raises InputError,
    ConfigError, OSError.
    """
    version = version_of(task.input)
    if version is None:
        raise InputError(f"{task.input} does not exist.")
    with open_file(task.input) as file:
        digest = input_digest(file, settings.format, task.input)
        origin = Origin(version.size, digest, tokenizer.fingerprint, settings).to_json()
        rows = _rows_of_existing(task, version, origin, settings.existing)
        if rows is not None:
            report(Counts(), version.size)
            return FileResult(task.input, task.output, rows, skipped=True)
        rows, tokens = _write_output(task, file, tokenizer, settings, origin, version, report)
    return FileResult(task.input, task.output, rows, tokens)


def failed_result(task: FileTask, error: str) -> FileResult:
    """What became of a file that could not be tokenized. `error`: a sentence that says why."""
    older = None
    # What is wrong with the output itself has been said.
    if not error.startswith(task.output):
        with contextlib.suppress(OSError, WordPieceError):
            older = version_of(task.output)
    left = "" if older is None else f" The older output {task.output} was left as it was."
    return FileResult(task.input, task.output, error=error + left)


def _rows_of_existing(task: FileTask, version: FileVersion, origin: bytes, existing: str) -> int | None:
    """The rows of the output if it is there and what would be written again; otherwise None."""
    there = version_of(task.output)
    if there is None or existing == "overwrite":
        return None
    if existing == "error":
        raise ConfigError(f"{task.output} exists already, and `existing` is error.")
    with open_file(task.output) as file:
        written, rows = read_origin(file)
    if written is None:
        raise ConfigError(
            f"{task.output} exists and was not written by this program; choose another output folder, or set `existing`"
            " to overwrite."
        )
    # As `make` has it: an input that is younger may have changed where the footer does not show it.
    return rows if written == origin and version.modified <= there.modified else None


def _write_output(
    task: FileTask,
    file: pa.NativeFile,
    tokenizer: TextEncoder,
    settings: FileSettings,
    origin: bytes,
    version: FileVersion,
    report: Report,
) -> tuple[int, int]:
    """Write the output. Gives its rows, and the ids in them."""
    source = open_source(file, settings, task.input, tokenizer.id_type)
    rows = tokens = 0
    told = 0.0
    with publish(task.output) as target, TokenWriter(target, source.schema, settings, origin) as writer:
        for table, counts, size in source.tables(tokenizer):
            writer.write(table)
            rows += table.num_rows
            del table
            tokens += counts.tokens
            told += size
            report(counts, size)
        report(Counts(), version.size - told)
        if version_of(task.input) != version:
            raise InputError(f"{task.input} was changed while it was read; run again when it is complete.")
    return rows, tokens
