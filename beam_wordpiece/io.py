"""Files in, files out: which file goes where, whole or not at all, and again only what is missing.

Local paths are read and written directly, paths with a scheme (`gs://`, `s3://`) through Beam's FileSystems.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import os
import posixpath
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
from apache_beam.io.filesystem import BeamIOError, CompressionTypes, FileSystem
from apache_beam.io.filesystems import FileSystems

from beam_wordpiece.automaton import Automaton
from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import ConfigError, InputError
from beam_wordpiece.parquet import Layout, Origin, TokenWriter, footer_digest, open_parquet, read_blocks, read_origin
from beam_wordpiece.tokenizer import Counts, Tokenizer

AUTOMATON_SUFFIX = ".bwp"


class FileTask(NamedTuple):
    """One file to tokenize: the path of the Parquet file to read, and that of the one to write."""

    input: str
    output: str


class FileResult(NamedTuple):
    """What became of one file.

    `rows`: of the output. `tokens`: ids that this run wrote. `skipped`: the output was there already, and the same.
    `error`: empty, or one sentence that says why there is no new output.
    """

    input: str
    output: str
    rows: int = 0
    tokens: int = 0
    skipped: bool = False
    error: str = ""


class FileVersion(NamedTuple):
    """Size in bytes, and time of the last change in seconds since 1970 (0 where a file system does not know it)."""

    size: int
    modified: float


Report = Callable[[Counts, float], None]
"""Is told what was counted in a block of rows, and how many bytes of the input file the block stands for."""


def is_remote(path: str) -> bool:
    """Whether a path has a scheme, as in `gs://bucket/file`."""
    return "://" in path


def join(folder: str, name: str) -> str:
    """A path below a folder, local or remote."""
    return posixpath.join(folder, name) if is_remote(folder) else os.path.join(folder, name)


# Which files ------------------------------------------------------------------------------------------------------


def plan_tasks(patterns: Sequence[str], output: str) -> list[FileTask]:
    """The files that the patterns match, each with the place of its output below the folder `output`, sorted.

    An output has the path of its input from the fixed part of the pattern on: `in/*/x.parquet` to `out` makes
    `out/a/x.parquet` of `in/a/x.parquet`. In patterns, `*`, `?` and `[..]` stay within a name, `**` is any number of
    folders. A file that several patterns match is read once. Relative local paths are made absolute.

    Raises InputError where a pattern matches nothing, ConfigError where two inputs would have one output or an output
    would be an input of the next run.
    """
    folder = _absolute(output)
    outputs: dict[str, str] = {}
    full = [_absolute(pattern) for pattern in patterns]
    for pattern in full:
        base = _fixed_part(pattern)
        for path in _matches(pattern):
            outputs.setdefault(path, join(folder, path[len(base) :].lstrip("/")))
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
        listed = _file_system(wanted).match([wanted])[0].metadata_list
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


# Reading and writing whole files ----------------------------------------------------------------------------------


def version_of(path: str) -> FileVersion | None:
    """The size and time of a file; None where there is none."""
    if not is_remote(path):
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return FileVersion(status.st_size, status.st_mtime)
    system = _file_system(path)
    if not system.exists(path):
        return None
    found = system.metadata(path)
    return FileVersion(found.size_in_bytes, found.last_updated_in_seconds or 0.0)


def _file_system(path: str) -> FileSystem:
    try:
        return FileSystems.get_filesystem(path)
    except ValueError as error:
        raise ConfigError(
            f"{path} is on a file system that Beam does not know here; install what it needs, such as apache-beam[gcp]"
            " or apache-beam[aws], or correct the path."
        ) from error


def open_file(path: str) -> pa.NativeFile:
    """A file to read from, with seeking. Raises InputError where it is missing or cannot be opened."""
    try:
        if is_remote(path):
            remote: Any = FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)
            return pa.PythonFile(remote, mode="r")
        return pa.OSFile(path, mode="r")
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist.") from error
    except (OSError, BeamIOError) as error:
        raise InputError(f"{path} cannot be opened: {getattr(error, 'strerror', None) or error}.") from error


@contextlib.contextmanager
def publish(path: str) -> Iterator[BinaryIO]:
    """A file to write that appears under `path` when the block ends, and not at all when it raises.

    Until then it has a temporary name in the same folder that ends in `.tmp`, and is locked. What killed runs left
    under such a name of the same path is removed: nobody holds its lock.
    """
    remote = is_remote(path)
    with (_publish_remote if remote else _publish_local)(path) as file:
        yield file


@contextlib.contextmanager
def _publish_local(path: str) -> Iterator[BinaryIO]:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(target)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _remove_stale(target: Path) -> None:
    for leftover in target.parent.glob(f".{glob.escape(target.name)}.{'[0-9a-f]' * 32}.tmp"):
        # A file that vanishes meanwhile, or that a running job holds, is no concern of this one.
        with contextlib.suppress(OSError), open(leftover, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftover.unlink()


@contextlib.contextmanager
def _publish_remote(path: str) -> Iterator[BinaryIO]:
    temporary = f"{path}.{uuid.uuid4().hex}.tmp"
    try:
        with contextlib.suppress(BeamIOError, OSError):  # the folder exists, or the file system has none
            FileSystems.mkdirs(posixpath.dirname(path))
        with FileSystems.create(temporary, compression_type=CompressionTypes.UNCOMPRESSED) as file:
            yield file
        if FileSystems.exists(path):  # not every file system renames over a file
            FileSystems.delete([path])
        FileSystems.rename([temporary], [path])
    except BaseException:
        with contextlib.suppress(BeamIOError, OSError):
            FileSystems.delete([temporary])
        raise


def local_copy(path: str) -> str:
    """The path itself where it is local; otherwise that of a copy on this host, made once for all its processes.

    The copy is in a folder of this user below the folder for temporary files, under a name that says which version of
    which file it is. Raises InputError where there is no such file.
    """
    if not is_remote(path):
        return path
    version = version_of(path)
    if version is None:
        raise InputError(f"{path} does not exist.")
    folder = Path(tempfile.gettempdir(), f"beam_wordpiece-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise InputError(f"{folder} belongs to another user; set TMPDIR to a folder of your own.")
    key = hashlib.sha256(repr((path, *version)).encode()).hexdigest()[:32]
    copy = folder / (key + posixpath.splitext(path)[1])
    with open(folder / f"{key}.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not copy.exists():
            source: Any = open_file(path)
            with source, publish(str(copy)) as target:
                shutil.copyfileobj(source, target)
    return str(copy)


def prepare_automaton(tokenizer: str, options: Mapping[str, Any], folder: str) -> str:
    """The path of an automaton that workers can open.

    `tokenizer`: a path that ends in `.bwp` is an automaton, and checked; anything else is a vocabulary, and compiled
    with the `options` (`Automaton.compile`) to `_automaton-FINGERPRINT.bwp` in `folder`. The file stays there: whoever
    wants to decode the ids finds it beside them, and readers of Parquet folders pass over names that begin with `_`.

    Raises ConfigError, VocabularyError, AutomatonError, OSError.
    """
    source = _absolute(tokenizer)
    if version_of(source) is None:
        raise ConfigError(f"The tokenizer {source} does not exist.")
    if source.endswith(AUTOMATON_SUFFIX):
        if options:
            raise ConfigError(f"{source} is compiled already; leave out the options ({', '.join(options)}).")
        Automaton.open(local_copy(source))
        return source
    automaton = Automaton.compile(local_copy(source), **options)
    path = join(_absolute(folder), f"_automaton-{automaton.fingerprint}{AUTOMATON_SUFFIX}")
    if version_of(path) is None:
        with publish(path) as file:
            file.write(automaton.to_bytes())
    return path


# One file ---------------------------------------------------------------------------------------------------------


def tokenize_file(task: FileTask, tokenizer: Tokenizer, settings: FileSettings, report: Report) -> FileResult:
    """Read, tokenize and write one file; or find that it was done before.

    The output appears whole or not at all, and equal inputs, tokenizers and settings give equal bytes. Memory: a block
    of rows and a row group of the output, whatever the size of the file. Raises InputError, ConfigError, OSError.
    """
    version = version_of(task.input)
    if version is None:
        raise InputError(f"{task.input} does not exist.")
    with open_file(task.input) as file:
        digest = footer_digest(file, task.input)
        origin = Origin(version.size, digest, tokenizer.automaton.fingerprint, settings).to_json()
        rows = _rows_of_existing(task, version, origin, settings.existing)
        if rows is not None:
            report(Counts(), version.size)
            return FileResult(task.input, task.output, rows, skipped=True)
        counts = _write_output(task, file, tokenizer, settings, origin, version, report)
    return FileResult(task.input, task.output, counts.documents, counts.tokens)


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
    tokenizer: Tokenizer,
    settings: FileSettings,
    origin: bytes,
    version: FileVersion,
    report: Report,
) -> Counts:
    parquet = open_parquet(file, task.input)
    layout = Layout(parquet.schema_arrow, settings, task.input)
    bytes_per_row = version.size / max(1, parquet.metadata.num_rows)
    total = Counts()
    with publish(task.output) as target, TokenWriter(target, layout.schema, settings, origin) as writer:
        for block in read_blocks(parquet, layout, task.input):
            ids, counts = layout.encode(block, tokenizer, total.documents)
            writer.write(layout.output(block, ids))
            total += counts
            report(counts, bytes_per_row * counts.documents)
        report(Counts(), version.size - bytes_per_row * total.documents)
        if version_of(task.input) != version:
            raise InputError(f"{task.input} was changed while it was read; run again when it is complete.")
    return total
