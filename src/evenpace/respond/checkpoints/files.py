"""Look at files of unknown origin safely: inside their folder, regular, never followed elsewhere."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath
from typing import BinaryIO


class Damaged(Exception):
    """Say why a checkpoint cannot be trusted."""


def inside(folder: Path, name: str) -> Path:
    """Return the regular file `name` below `folder`; raises Damaged for links, other kinds and ways out."""
    relative = PurePosixPath(name)
    if not name or "\0" in name or relative.is_absolute() or ".." in relative.parts or str(relative) != name:
        raise Damaged(f"it names a file outside its folder: {name[:100]!r}")
    path = folder / relative
    try:
        mode = path.lstat().st_mode
        linked = path.parent.resolve() != folder.resolve() / relative.parent
    except (OSError, ValueError, RuntimeError) as error:
        raise Damaged(f"{name[:100]} is missing") from error
    if linked or not stat.S_ISREG(mode):
        raise Damaged(f"{name[:100]} is not a regular file")
    return path


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading; raises Damaged where that fails or it is something else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Damaged(f"{path.name} is not a regular file")
    return os.fdopen(descriptor, "rb")


def read_small(path: Path, limit: int) -> bytes:
    """Return a file's content; raises Damaged where it is longer than `limit` bytes."""
    with open_file(path) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise Damaged(f"{path.name} is longer than {limit} bytes")
    return content


class Window:
    """Show a stretch of a file as a file of its own (`zipfile` needs read, seek and tell)."""

    def __init__(self, file: BinaryIO, offset: int, length: int) -> None:
        self._file, self._offset, self._length = file, offset, length
        self._place = 0

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        """Move; raises ValueError before the beginning, as files do."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._length}[whence]
        if base + place < 0:
            raise ValueError("negative seek position")
        self._place = base + place
        return self._place

    def tell(self) -> int:
        """Return the place."""
        return self._place

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, never beyond the stretch."""
        left = max(0, self._length - self._place)
        wanted = left if size is None or size < 0 else min(size, left)
        self._file.seek(self._offset + self._place)
        data = self._file.read(wanted)
        self._place += len(data)
        return data
