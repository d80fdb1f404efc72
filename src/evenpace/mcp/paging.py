"""Answers in pages that fit an agent's limit; further pages come from memory, not the cluster."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import BaseModel

from evenpace.errors import Problem

# Bytes of a page as JSON. It goes out twice (as text, and structured), and a token is two bytes at the least
# in what evenpace says: so both stay below the 25,000 tokens that agents take.
PAGE = 20_000
KEPT = 4  # answers whose further pages can still be asked for
_T = TypeVar("_T")


def size(one: BaseModel) -> int:
    """Return the bytes of a part of an answer as JSON."""
    return len(one.model_dump_json().encode())


def fitting(sizes: Sequence[int], start: int, room: int = PAGE) -> int:
    """Return the end of the page that starts at `start`: at least one entry, at most `room` bytes."""
    end, used = start, 0
    while end < len(sizes) and (end == start or used + sizes[end] <= room):
        used += sizes[end]
        end += 1
    return end


def offset(cursor: str, total: int) -> int:
    """Return the place that a cursor of a list names; raises Problem."""
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and int(cursor) < max(total, 1)):
        raise Problem(f"there is no page {cursor[:20]!r}; leave `cursor` empty for the first")
    return int(cursor)


@dataclass(frozen=True, slots=True)
class Whole(Generic[_T]):
    """Hold an answer of which pages are shown: `page(start, end, cursor)`, and the sizes of its entries."""

    sizes: Sequence[int]
    page: Callable[[int, int, str | None], _T]


@dataclass(slots=True)
class Pages(Generic[_T]):
    """Keep the last answers by a name that nobody guesses."""

    kept: OrderedDict[str, Whole[_T]] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def first(self, whole: Whole[_T]) -> _T:
        """Return the first page of a new answer."""
        name = secrets.token_hex(8)
        with self.lock:
            self.kept[name] = whole
            while len(self.kept) > KEPT:
                self.kept.popitem(last=False)
        return self._page(name, whole, 0)

    def next(self, cursor: str) -> _T:
        """Return the page that a cursor names; raises Problem where its answer is no longer kept."""
        name, _, place = cursor.partition(".")
        with self.lock:
            whole = self.kept.get(name)
        if whole is None or not place.isdigit() or int(place[:9]) >= len(whole.sizes):
            raise Problem("this answer is no longer kept; call again without `cursor`")
        return self._page(name, whole, int(place))

    def _page(self, name: str, whole: Whole[_T], start: int) -> _T:
        end = fitting(whole.sizes, start)
        return whole.page(start, end, f"{name}.{end}" if end < len(whole.sizes) else None)
