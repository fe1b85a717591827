"""Local files that appear whole or not at all, and what is left of those that do not."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from beam_wordpiece import files, storage
from beam_wordpiece.files import KERNEL, STALE_SECONDS, write_whole
from tests import corpus


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "new/file"
    with storage.publish(str(target)) as file:
        file.write(b"half")
        assert not target.exists()
        assert [path.suffix for path in target.parent.iterdir()] == [".tmp"]
    assert target.read_bytes() == b"half"
    assert names(target.parent) == ["file"]


def test_a_file_that_fails_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), write_whole(target) as file:
        file.write(b"new" * (1 // 0))
    assert names(tmp_path) == ["file"]
    assert target.read_bytes() == b"old"


def test_a_file_reaches_the_disk_before_it_has_its_name_and_its_folder_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        done.append("folder" if os.fstat(descriptor).st_ino == tmp_path.stat().st_ino else "file")
        fsync(descriptor)

    def note_replace(source: Path, target: Path) -> None:
        done.append("name")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    with write_whole(tmp_path / "file") as file:
        file.write(b"x")
    assert done == ["file", "name", "folder"]


# Leftovers ----------------------------------------------------------------------------------------------------------

ELSEWHERE = "f" * 16 if KERNEL[0] != "f" else "e" * 16


@pytest.mark.parametrize(
    ("kernel", "age", "locked", "goes"),
    [
        (KERNEL, 0, False, True),
        (KERNEL, 0, True, False),
        (KERNEL, 2 * STALE_SECONDS, True, False),
        (ELSEWHERE, 0, False, False),  # its lock may be one that is not seen here
        (ELSEWHERE, STALE_SECONDS // 2, False, False),
        (ELSEWHERE, 2 * STALE_SECONDS, False, True),
        (ELSEWHERE, 2 * STALE_SECONDS, True, False),
    ],
)
def test_a_leftover_goes_when_it_is_surely_one(tmp_path: Path, kernel: str, age: int, locked: bool, goes: bool) -> None:
    left = tmp_path / f".file.{kernel}{'0' * 16}.tmp"
    left.touch()
    os.utime(left, (time.time() - age,) * 2)
    with open(left, "rb") as held:
        if locked:
            fcntl.flock(held, fcntl.LOCK_EX)
        with write_whole(tmp_path / "file") as file:
            file.write(b"x")
    assert names(tmp_path) == sorted(["file"] if goes else ["file", left.name])


def test_files_of_other_names_are_no_leftovers(tmp_path: Path) -> None:
    others = [f".file2.{KERNEL}{'0' * 16}.tmp", f"file.{KERNEL}{'0' * 16}.tmp", ".file.tmp", f".file.{KERNEL}.tmp"]
    corpus.touch(tmp_path, *others)
    with write_whole(tmp_path / "file"):
        pass
    assert names(tmp_path) == sorted(["file", *others])
    (tmp_path / "[f]ile").touch()
    left = tmp_path / f".[f]ile.{KERNEL}{'0' * 16}.tmp"
    left.touch()
    with write_whole(tmp_path / "[f]ile"):
        pass
    assert not left.exists()


def test_a_file_that_is_taken_for_a_leftover_before_it_is_locked_gets_a_new_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the creation of the file and its lock another process can lock and remove it."""
    flock, removed = fcntl.flock, []

    def late(file: BinaryIO, operation: int) -> None:
        if operation == fcntl.LOCK_EX and len(removed) < 2:
            (found,) = tmp_path.glob(".file.*.tmp")
            found.unlink()
            removed.append(found.name)
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with write_whole(tmp_path / "file") as file:
        file.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert names(tmp_path) == ["file"]
    assert len(set(removed)) == 2


def test_without_locks_files_are_written_and_leftovers_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    left = f".file.{KERNEL}{'0' * 16}.tmp"
    corpus.touch(tmp_path, left)
    monkeypatch.setattr(fcntl, "flock", refuse)
    with write_whole(tmp_path / "file") as file:
        file.write(b"x")
    assert names(tmp_path) == sorted([left, "file"])


# Errors name the file that was asked for ----------------------------------------------------------------------------


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file may be larger than 100 kB, as if the disk were full then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def occupied(target: Path) -> None:
    target.mkdir()


def without_folder(target: Path) -> None:
    target.parent.rmdir()


@pytest.mark.parametrize(
    ("prepare", "size", "kind"),
    [(occupied, 1, IsADirectoryError), (without_folder, 1, FileNotFoundError), (Path.touch, 1_000_000, OSError)],
)
def test_errors_name_the_target(
    tmp_path: Path, small_files: None, prepare: Callable[[Path], None], size: int, kind: type[OSError]
) -> None:
    target = tmp_path / "folder/file"
    target.parent.mkdir()
    prepare(target)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(kind, match=re.escape(repr(str(target)))) as caught, write_whole(target) as file:
        file.write(b"x" * size)
    assert caught.value.filename == str(target)
    assert ".tmp" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_error_about_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, write_whole(tmp_path / "file"):
        (tmp_path / "other").read_bytes()
    assert caught.value.filename == str(tmp_path / "other")


def test_a_file_where_a_folder_would_have_to_be(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(NotADirectoryError, match="out"), storage.publish(str(tmp_path / "out/file")):
        pass


def test_a_folder_that_cannot_be_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync, code = os.fsync, errno.EINVAL

    def refuse(descriptor: int) -> None:
        if os.fstat(descriptor).st_ino == tmp_path.stat().st_ino:
            raise OSError(code, os.strerror(code))
        fsync(descriptor)

    monkeypatch.setattr(files.os, "fsync", refuse)
    with write_whole(tmp_path / "file") as file:
        file.write(b"x")
    assert (tmp_path / "file").read_bytes() == b"x"
    code = errno.EIO
    with pytest.raises(OSError, match="Input/output error"), write_whole(tmp_path / "file"):
        pass
