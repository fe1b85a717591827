"""A file system of Beam's that is not the local one, for the tests: `elsewhere://a/b` is `a/b` below a folder.

As object stores do, it has no folders, and renames over a file that exists; with `overwrites` false it refuses to, as
HDFS does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from apache_beam.io.filesystem import BeamIOError, CompressionTypes, FileMetadata, FileSystem

SCHEME = "elsewhere"


class Elsewhere(FileSystem):
    """The files below `root`. `opened` counts how often each was opened to be read."""

    root: ClassVar[Path] = Path()
    overwrites: ClassVar[bool] = True
    opened: ClassVar[dict[str, int]] = {}

    def _place(self, path: str) -> Path:
        return self.root / path.removeprefix(f"{SCHEME}://")

    @classmethod
    def scheme(cls) -> str:
        return SCHEME

    def has_dirs(self) -> bool:
        return False

    def join(self, basepath: str, *paths: str) -> str:
        return "/".join([basepath, *paths])

    def split(self, path: str) -> tuple[str, str]:
        return os.path.split(path)

    def mkdirs(self, path: str) -> None:
        pass

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        for place in sorted(self.root.rglob("*")):
            path = f"{SCHEME}://{place.relative_to(self.root)}"
            if place.is_file() and path.startswith(dir_or_prefix):
                yield self.metadata(path)

    def create(self, path: str, mime_type: str = "", compression_type: str = CompressionTypes.AUTO) -> BinaryIO:
        assert compression_type == CompressionTypes.UNCOMPRESSED
        self._place(path).parent.mkdir(parents=True, exist_ok=True)
        return open(self._place(path), "wb")

    def open(self, path: str, mime_type: str = "", compression_type: str = CompressionTypes.AUTO) -> BinaryIO:
        assert compression_type == CompressionTypes.UNCOMPRESSED
        self.opened[path] = self.opened.get(path, 0) + 1
        return open(self._place(path), "rb")

    def copy(self, source_file_names: Sequence[str], destination_file_names: Sequence[str]) -> None:
        raise NotImplementedError

    def rename(self, source_file_names: Sequence[str], destination_file_names: Sequence[str]) -> None:
        for source, target in zip(source_file_names, destination_file_names, strict=True):
            if self.exists(target) and not self.overwrites:
                raise BeamIOError(f"{target} exists")
            self._place(source).rename(self._place(target))

    def exists(self, path: str) -> bool:
        return self._place(path).is_file()

    def size(self, path: str) -> int:
        return self._place(path).stat().st_size

    def last_updated(self, path: str) -> float:
        return self._place(path).stat().st_mtime

    def metadata(self, path: str) -> FileMetadata:
        return FileMetadata(path, self.size(path), self.last_updated(path))

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._place(path).unlink()

    def checksum(self, path: str) -> Any:
        raise NotImplementedError
