"""The native part as Python sees it: present only where it was preloaded."""

from __future__ import annotations

import ctypes
from typing import Any


class Native:
    """The preloaded library. Raises AttributeError where there is none."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._open: Any = library.evenpace_tap_open
        self._close: Any = library.evenpace_tap_close
        self._binds: Any = library.evenpace_tap_binds
        self._binds.argtypes = [ctypes.c_void_p]
        self._say: Any = library.evenpace_tap_say
        self._say.argtypes = [ctypes.c_uint8, ctypes.c_uint64, ctypes.c_uint64]

    def open(self, path: str) -> bool:
        """Begin to record into that ring; False where the library refuses it."""
        return bool(self._open(path.encode()) == 0)

    def close(self) -> None:
        """Stop recording."""
        self._close()

    def say(self, kind: int, first: int, second: int) -> None:
        """Write a record of what a loop says: `first` as its bytes, `second` as its wait."""
        self._say(kind, first, second)

    def binds(self, backend: int) -> bool:
        """Tell whether the vtable of the backend object at that address leads into the library."""
        return bool(self._binds(backend) == 1)


def preloaded() -> Native | None:
    """Return the native part, or None where it was not preloaded into this process."""
    try:
        return Native()
    except AttributeError:
        return None
