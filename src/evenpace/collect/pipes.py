"""Read what a process prints, with limits of time and of size."""

from __future__ import annotations

import os
import selectors
from collections.abc import Callable
from typing import IO

_CHUNK = 1 << 16
_ERRORS = 1 << 14  # bytes of an error text; what is more is read and forgotten


class Late(Exception):
    """Say that the time was over before the process closed its pipes."""


class TooLarge(Exception):
    """Say that a process printed more than it may."""


def both(
    output: IO[bytes] | None,
    errors: IO[bytes] | None,
    until: float,
    largest: int,
    clock: Callable[[], float],
) -> tuple[bytes, bytes]:
    """Return what came through both pipes to their ends; `until` as `clock` tells it.

    Raises Late, and TooLarge where the output has more than `largest` bytes; of the errors the start is kept.
    """
    kept = {pipe: bytearray() for pipe in (output, errors) if pipe is not None}
    with selectors.DefaultSelector() as waiting:
        for pipe in kept:
            waiting.register(pipe, selectors.EVENT_READ, pipe)
        while waiting.get_map():
            ready = waiting.select(max(0.0, until - clock()))
            if clock() >= until:
                raise Late
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    waiting.unregister(key.fileobj)
                elif key.data is output or len(kept[key.data]) < _ERRORS:
                    kept[key.data].extend(chunk)
            if output is not None and len(kept[output]) > largest:
                raise TooLarge
    first, second = (bytes(kept[pipe]) if pipe is not None else b"" for pipe in (output, errors))
    return first, second


def said(errors: bytes) -> str:
    """Return an error text as one line."""
    return " ".join(errors.decode("utf-8", "replace").split())
