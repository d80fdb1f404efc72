"""Search and replace with RE2 on bytes, which is several times as fast as on text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import re2

from evenpace.diagnose.matching import options

MEMORY = 128 << 20  # bytes that a pattern may use while it searches
_NEAR = 12  # bytes before and behind a match that are looked at

Pattern = Any  # re2's own type, which has no name to import


class Found:
    """Give the groups of a match as text, and a little of what stands around it."""

    __slots__ = ("_data", "_match")

    def __init__(self, match: Any, data: bytes) -> None:
        self._match, self._data = match, data

    def __getitem__(self, group: int) -> str:
        found = self._match.group(group)
        return found.decode("utf-8", "replace") if found else ""

    @property
    def before(self) -> str:
        """Return the letters before the match."""
        start = self._match.start()
        return self._data[max(0, start - _NEAR) : start].decode("utf-8", "ignore")

    @property
    def after(self) -> str:
        """Return the letters behind the match."""
        end = self._match.end()
        return self._data[end : end + _NEAR].decode("utf-8", "ignore")


def compiled(pattern: str) -> Pattern:
    """Return a pattern to search bytes with."""
    wide = options()
    wide.max_mem = MEMORY
    return re2.compile(pattern.encode(), wide)


def findall(pattern: Pattern, data: bytes) -> set[Any]:
    """Return what the groups of a pattern found, each once: texts, or tuples where there are several."""
    return {
        tuple(part.decode("utf-8", "replace") for part in one)
        if isinstance(one, tuple)
        else one.decode("utf-8", "replace")
        for one in set(pattern.findall(data))
    }


def sub(pattern: Pattern, replace: Callable[[Found], str], text: str) -> str:
    """Return text with each match replaced."""
    data = text.encode("utf-8", "replace")
    pieces: list[bytes] = []
    done = 0
    for match in pattern.finditer(data):
        start, end = match.span()
        pieces += (data[done:start], replace(Found(match, data)).encode("utf-8", "replace"))
        done = end
    if not pieces:
        return text
    pieces.append(data[done:])
    return b"".join(pieces).decode("utf-8", "replace")
