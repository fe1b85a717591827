"""Files by path, local or remote: their versions, reading, writing whole, and copies on this host.

Local paths are read and written directly, paths with a scheme (`gs://`, `s3://`) through Beam's FileSystems.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import posixpath
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
from apache_beam.io.filesystem import BeamIOError, CompressionTypes, FileSystem
from apache_beam.io.filesystems import FileSystems

from beam_wordpiece.errors import ConfigError, InputError, WordPieceError
from beam_wordpiece.files import temporary_name, temporary_pattern, with_name, write_whole
from beam_wordpiece.parquet import one_line

# Seconds after which an unfinished remote file, which has no lock, is one that nobody writes any more.
STALE_SECONDS = 24 * 3600


class FileVersion(NamedTuple):
    """Size in bytes, and time of the last change in seconds since 1970 (0 where a file system does not know it)."""

    size: int
    modified: float


def is_remote(path: str) -> bool:
    """Whether a path has a scheme, as in `gs://bucket/file`."""
    return "://" in path


def join(folder: str, name: str) -> str:
    """A path below a folder, local or remote."""
    return posixpath.join(folder, name) if is_remote(folder) else os.path.join(folder, name)


def file_system(path: str) -> FileSystem:
    """Beam's file system of a remote path. Raises ConfigError where Beam does not know it here."""
    try:
        return FileSystems.get_filesystem(path)
    except ValueError as error:
        raise ConfigError(
            f"{path} is on a file system that Beam does not know here; install what it needs, such as apache-beam[gcp]"
            " or apache-beam[aws], or correct the path."
        ) from error


def fault_of(error: BaseException, path: str) -> str:
    """What went wrong, as part of a sentence that names `path` already; another path is named."""
    if not isinstance(error, OSError) or error.strerror is None:
        return one_line(error)
    return error.strerror if error.filename in (None, path) else f"{error.filename}: {error.strerror}"


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    """Clients of stores raise exceptions of their own, of any class: here they become OSError."""
    try:
        yield
    except (OSError, WordPieceError):
        raise
    except Exception as error:
        raise BeamIOError(f"{type(error).__name__}: {one_line(error)}") from error


def version_of(path: str) -> FileVersion | None:
    """The size and time of a file; None where there is none. Raises OSError, ConfigError."""
    if not is_remote(path):
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return FileVersion(status.st_size, status.st_mtime)
    system = file_system(path)
    with _as_os_error():
        if not system.exists(path):
            return None
        found = system.metadata(path)
    return FileVersion(found.size_in_bytes, found.last_updated_in_seconds or 0.0)


def has_files_below(path: str) -> bool:
    """Whether a remote path is what other systems call a folder. False where that cannot be found out."""
    try:
        with _as_os_error():
            return bool(file_system(path).match([_quoted(path.rstrip("/")) + "/*"], [1])[0].metadata_list)
    except OSError:
        return False


def open_file(path: str) -> pa.NativeFile:
    """A file to read from, with seeking. Raises InputError where it is missing or cannot be opened."""
    try:
        if is_remote(path):
            with _as_os_error():
                remote: Any = FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)
            return pa.PythonFile(remote, mode="r")
        return pa.OSFile(path, mode="r")
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {fault_of(error, path)}.") from error


# Writing ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def publish(path: str) -> Iterator[BinaryIO]:
    """A file to write that appears under `path` when the block ends, and not at all when it raises.

    Until then it has a temporary name in the same folder that begins with a dot and ends in `.tmp`. What killed runs
    left under such a name of the same path is removed. Local: `files.write_whole`, which holds a lock. Remote: stores
    have no locks, so leftovers are removed when they are a day old, and what was there before is replaced in one step
    only where renaming replaces (Google Cloud Storage, S3, Azure); elsewhere (HDFS) it is removed first, and a run that
    is killed just then leaves the new file under its temporary name, and nothing under `path`. Of two runs that write
    the same path, the last one wins.

    Raises OSError, which names `path`, and ConfigError.
    """
    if is_remote(path):
        with _publish_remote(path) as file:
            yield file
        return
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), error.filename) from error
    with write_whole(path) as file:
        yield file


@contextlib.contextmanager
def _publish_remote(path: str) -> Iterator[BinaryIO]:
    folder, slash, name = path.rpartition("/")
    temporary = folder + slash + temporary_name(name)
    try:
        with contextlib.suppress(OSError), _as_os_error():  # the folder exists, or the file system has none
            # What is left of a path without a folder is no path of its file system, and Beam takes it for a local one.
            if is_remote(folder):
                FileSystems.mkdirs(folder)
        _remove_stale(folder + slash, name)
        with _as_os_error():
            file = FileSystems.create(temporary, compression_type=CompressionTypes.UNCOMPRESSED)
        try:
            yield file
        except BaseException:
            with contextlib.suppress(OSError), _as_os_error():
                file.close()
            raise
        with _as_os_error():
            file.close()
            _rename_over(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError), _as_os_error():
            FileSystems.delete([temporary])
        if isinstance(error, OSError) and error.filename is None:
            raise with_name(error, path) from error
        raise


def _rename_over(temporary: str, path: str) -> None:
    try:
        FileSystems.rename([temporary], [path])
    except OSError:
        # Perhaps because of what is there: not every file system renames over a file.
        if not (FileSystems.exists(path) and FileSystems.exists(temporary)):
            raise
        FileSystems.delete([path])
        FileSystems.rename([temporary], [path])


def _remove_stale(folder: str, name: str) -> None:
    """Remove what was not finished a day ago. It never matters if that fails."""
    old = []
    with contextlib.suppress(OSError), _as_os_error():
        for item in file_system(folder).match([_quoted(f"{folder}.{name}.") + "*"])[0].metadata_list:
            is_temporary = fnmatchcase(item.path.removeprefix(folder), temporary_pattern(name))
            if is_temporary and 0 < (item.last_updated_in_seconds or 0) < time.time() - STALE_SECONDS:
                old.append(item.path)
        if old:
            FileSystems.delete(old)


def _quoted(path: str) -> str:
    """A pattern that matches a path, and few others: Beam has no way to quote what is special in patterns."""
    return re.sub(r"[*?[]", "?", path)


# Copies on this host ----------------------------------------------------------------------------------------------


def local_copy(path: str) -> str:
    """The path itself where it is local; otherwise that of a copy on this host, made once for all its processes.

    The copy is in a folder of this user below the folder for temporary files, under a name that says which version of
    which file it is; copies of earlier versions are removed. Raises InputError where there is no such file, OSError.
    """
    if not is_remote(path):
        return path
    version = version_of(path)
    if version is None:
        raise InputError(f"{path} does not exist.")
    folder = _own_folder()
    key, suffix = _digest(path), posixpath.splitext(path)[1]
    copy = folder / f"{key}-{_digest(version)}{suffix}"
    with open(folder / f"{key}.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not copy.exists() or copy.stat().st_size != version.size:
            source: Any = open_file(path)
            with source, publish(str(copy)) as target:
                shutil.copyfileobj(source, target)
        for other in folder.glob(f"{key}-*"):
            # Who has it mapped keeps it; who is about to open it asks again.
            if other != copy:
                other.unlink(missing_ok=True)
    return str(copy)


def _digest(value: object) -> str:
    content = repr(tuple(value) if isinstance(value, tuple) else value)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _own_folder() -> Path:
    """A folder for copies that only this user can change. Raises InputError where another has its name."""
    folder = Path(tempfile.gettempdir(), f"beam_wordpiece-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    # Of a link it is the link that has to be this user's: `stat` would tell of what another user made it point to.
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise InputError(
            f"{folder} is not a folder that only this user can write to; remove it, or set TMPDIR to another folder."
        )
    return folder
