"""Local files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

SUFFIX = ".tmp"
# Seconds after which an unfinished file that another machine left is one that nobody writes any more.
STALE_SECONDS = 3600
# Some file systems cannot flush a folder, and not every folder can be opened to do it.
_NOT_FOR_FOLDERS = (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM)


def _read_kernel() -> str:
    """16 hexadecimal digits that tell this kernel, until it boots again, from all others; locks are known within it."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except OSError:
        text = f"{uuid.getnode():016x}"
    return text.replace("-", "")[:16]


KERNEL = _read_kernel()


def temporary_name(name: str) -> str:
    """A new name for what is going to be `name`: hidden, with 32 hexadecimal digits of which the first are `KERNEL`."""
    return f".{name}.{KERNEL}{uuid.uuid4().hex[:16]}{SUFFIX}"


def temporary_pattern(name: str) -> str:
    """The glob of all that `temporary_name` gives."""
    return f".{glob.escape(name)}.{'[0-9a-f]' * 32}{SUFFIX}"


@contextlib.contextmanager
def write_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write that has its name when the block ends, and is gone when the block raises.

    Until then it has a temporary name in the same folder, and is locked. It is flushed to the disk before it gets its
    name, and its folder afterwards. A file that was there stays as it is for those who have it open or mapped. What
    killed processes left under a temporary name of the same path is removed first.

    Raises OSError, with the name of `path` where it would be the temporary one or none.
    """
    target = Path(path)
    temporary: Path | None = None
    try:
        _remove_stale(target)
        temporary, file = _create(target)
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, target)
        _sync_folder(target.parent)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and (error.filename is None or _is_temporary(str(error.filename), target)):
            raise with_name(error, str(target)) from error
        raise


def _is_temporary(path: str, target: Path) -> bool:
    return Path(path).parent == target.parent and Path(path).match(temporary_pattern(target.name))


def with_name(error: OSError, name: str) -> OSError:
    """The error as one of the file `name`."""
    return OSError(error.errno or errno.EIO, error.strerror or " ".join(str(error).split()), name)


def _create(target: Path) -> tuple[Path, BinaryIO]:
    """A new file beside the target, locked by this process."""
    while True:
        temporary = target.with_name(temporary_name(target.name))
        file = open(temporary, "xb")  # noqa: SIM115 (whoever asked for it closes it)
        try:
            # Where there are no locks nobody else can take one either, and so nobody removes the file.
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_nlink:
                return temporary, file
        except BaseException:
            file.close()
            temporary.unlink(missing_ok=True)
            raise
        # Between its creation and its lock another process took it for a leftover.
        file.close()


def _remove_stale(target: Path) -> None:
    """Remove unfinished files of the target that surely nobody writes.

    The lock of one that this kernel has made is held as long as somebody does. A file of another machine may have a
    lock that is not seen here, so it has to be old too.
    """
    for leftover in target.parent.glob(temporary_pattern(target.name)):
        # A file that vanishes meanwhile, or that a running process holds, is no concern of this one.
        with contextlib.suppress(OSError), open(leftover, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = leftover.name.startswith(f".{target.name}.{KERNEL}")
            if mine or os.fstat(file.fileno()).st_mtime < time.time() - STALE_SECONDS:
                leftover.unlink()


def _sync_folder(folder: Path) -> None:
    """Flush a folder to the disk, so that a file renamed in it is there after a crash."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NOT_FOR_FOLDERS:
            raise
