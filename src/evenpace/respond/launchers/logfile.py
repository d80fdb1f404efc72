"""Log files with room kept ahead: agents write to them directly, and a full disk must not make `print` fail.

Blocks are reserved beyond the end of the file (fallocate with FALLOC_FL_KEEP_SIZE); appended text goes there.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

AHEAD = 4 << 20  # bytes kept beyond the end
STEP = 1 << 20  # bytes written before the reserve is filled up again
KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE of linux/falloc.h


def open_log(path: Path) -> int:
    """Open a log for appending; raises OSError."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)


class Reserve:
    """Keep room ahead of a log's end. A file system that cannot do that is left alone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._filled_at = -STEP

    def fill(self) -> None:
        """Reserve again where the log has grown since."""
        try:
            size = self._path.stat().st_size
            if size - self._filled_at >= STEP:
                self._allocate(size)
                self._filled_at = size
        except OSError:
            return

    def _allocate(self, size: int) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            _fallocate()(descriptor, KEEP_SIZE, size, AHEAD)
        finally:
            os.close(descriptor)

    def release(self) -> None:
        """Give the rest back. Only when nobody writes any more: text appended meanwhile would be cut off."""
        try:
            os.truncate(self._path, self._path.stat().st_size)
        except OSError:
            return


@cache
def _fallocate() -> Any:
    call = ctypes.CDLL(None, use_errno=True).fallocate
    call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return call
