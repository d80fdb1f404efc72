"""Which iteration lines to read of a file that is too large to read: those that a series needs.

The contract with whoever streams a file:

1. `scanner = Scanner(head, size)` with the first MiB of the file, which decides how its iteration lines look,
   and the size of the file in bytes, if it is known.
2. `scanner.feed(block, at)` for every block, cut at line ends, where `at` is the block's offset in the file.
   Regular expressions run at C speed over the whole block; without iteration lines in `head` it returns at
   once.
3. `scanner.offsets()`: ascending offsets at which lines begin. Read those lines and give them, with all other
   lines that are read, to `iterations.series_of`.

The lines stand evenly in the file, and with them those of the largest, the smallest and the first not finite
values, unless the `extremes` are not asked for: then only the bytes around the grid are looked at. Memory is
bounded by `points`, whatever the size of the file.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from itertools import islice
from math import isfinite

HEAD = 1 << 20  # bytes in which all ways of printing of a file occur
POINTS = 2_000  # lines of a file, about
_LEAST = 3  # lines in the head
_SIDES = 20  # one in so many points is kept for being among the largest, and among the smallest
_CHUNK = 1 << 18  # bytes of which one largest and one smallest value is a candidate
_STRIDE = 1 << 12  # bytes between the lines that are kept, at first, where the size is not known
_VALUE = rb" {0,8}([-+.\w]{1,24})"
# Of each family the first that occurs is looked for. All begin with a literal: this is what makes them fast.
_FAMILIES: tuple[tuple[bytes, ...], ...] = (
    (
        rb"per iteration \(ms\):" + _VALUE,
        rb"per iteration \(s\):" + _VALUE,
        rb"elapsed_time_per_iteration_ms:" + _VALUE,
        rb"iter time \(s\):" + _VALUE,
        rb"CurrSamplesPerSec=" + _VALUE,
        rb"throughput \(token/s\):" + _VALUE,
        rb"generation throughput:" + _VALUE,
        rb"tokens_per_sec:" + _VALUE,
        rb" tps:" + _VALUE,
        rb" tok/s" + _VALUE,
        rb"train_step_timing in s=" + _VALUE,
        rb"Batch \(t\):" + _VALUE,
        rb", ([\d.]{1,9}) ?sec/step",
        rb", {1,4}([\d.]{1,9})(?:s/it|it/s)",
        rb"Time:" + _VALUE,
        rb" [tT]ime:? " + _VALUE,
        rb", wps=" + _VALUE,
    ),
    (rb"lm loss:" + _VALUE, rb"lm_loss:" + _VALUE, rb"loss['\"]: ['\"]?" + _VALUE, rb"[lL]oss[:=]?" + _VALUE),
    (rb"grad[ _]norm['\"]?[:=]?" + _VALUE, rb"gnorm=" + _VALUE),
    (rb"reducing to" + _VALUE,),
    (rb"data_time:" + _VALUE, rb"Data \(t\):" + _VALUE, rb" [dD]ata:?" + _VALUE),
)


class Scanner:
    """Choose the iteration lines of a file that are to be read. See the module for its use."""

    def __init__(
        self, head: bytes, size: int | None = None, points: int = POINTS, *, extremes: bool = True
    ) -> None:
        self.extremes = extremes
        found = (_first(family, head[:HEAD]) for family in _FAMILIES)
        stride = _STRIDE if size is None else max(1, size // points)
        self._picks = [_Picks(pattern, points, stride) for pattern in found if pattern is not None]

    def feed(self, block: bytes, at: int) -> None:
        """Take the next block of the file, which begins at byte `at`."""
        if not self._picks:
            return
        begin = 0
        while begin < len(block):
            end = block.rfind(b"\n", begin, begin + _CHUNK) + 1
            end = end or block.find(b"\n", begin) + 1 or len(block)
            chunk = block[begin:end]
            for picks in self._picks:
                picks.feed(chunk, at + begin)
            begin = end

    def sample(self, buffer: bytes, end: int, at: int) -> None:
        """Take `buffer[:end]`, which begins at byte `at`, for the grid only; part of it may be known."""
        for picks in self._picks:
            picks.keep_even(buffer, at, end)

    def offsets(self) -> list[int]:
        """Return the ascending offsets at which the lines to read begin."""
        return sorted({offset for picks in self._picks for offset in picks.offsets()})


def _first(family: tuple[bytes, ...], head: bytes) -> re.Pattern[bytes] | None:
    patterns = (re.compile(pattern) for pattern in family)
    return next((pattern for pattern in patterns if len(pattern.findall(head)) >= _LEAST), None)


@dataclass
class _Picks:
    """The lines kept for one family: on a grid of bytes, and by their values."""

    pattern: re.Pattern[bytes]
    points: int
    stride: int
    next: int = 0  # offset from which the next line of the grid is looked for
    even: list[int] = field(default_factory=list)
    largest: list[tuple[float, int]] = field(default_factory=list)  # heaps
    smallest: list[tuple[float, int]] = field(default_factory=list)
    strange: list[int] = field(default_factory=list)

    def feed(self, chunk: bytes, at: int) -> None:
        texts = self.pattern.findall(chunk)
        if not texts:
            return
        self.keep_even(chunk, at, len(chunk))
        values = _numbers(texts)
        top, bottom = max(values), min(values)
        if isfinite(sum(values)):
            self._keep(self.largest, top, values.index(top), chunk, at)
            self._keep(self.smallest, -bottom, values.index(bottom), chunk, at)
        elif len(self.strange) < max(1, self.points // _SIDES):
            odd = next((n for n, value in enumerate(values) if not isfinite(value)), 0)
            self.strange.append(self._offset(odd, chunk, at))

    def keep_even(self, chunk: bytes, at: int, end: int) -> None:
        """Keep the lines of the grid that are in a chunk."""
        while self.next < at + end:
            match = self.pattern.search(chunk, max(0, self.next - at), end)
            if match is None:
                return
            self.even.append(at + _line(chunk, match.start()))
            self.next = max(at + match.end(), self.next + self.stride)
            if len(self.even) > 2 * self.points:
                self.even = self.even[::2]
                self.stride *= 2

    def _keep(self, heap: list[tuple[float, int]], value: float, n: int, chunk: bytes, at: int) -> None:
        side = max(1, self.points // _SIDES)
        if len(heap) < side:
            heappush(heap, (value, self._offset(n, chunk, at)))
        elif value > heap[0][0]:
            heappushpop(heap, (value, self._offset(n, chunk, at)))

    def _offset(self, n: int, chunk: bytes, at: int) -> int:
        match = next(islice(self.pattern.finditer(chunk), n, None))
        return at + _line(chunk, match.start())

    def offsets(self) -> list[int]:
        return [*self.even, *(offset for _, offset in (*self.largest, *self.smallest)), *self.strange]


def _line(chunk: bytes, at: int) -> int:
    return chunk.rfind(b"\n", 0, at) + 1


def _numbers(texts: list[bytes]) -> list[float]:
    """Return numbers; a text that is none counts as the one before it."""
    try:
        return list(map(float, texts))
    except ValueError:
        numbers, last = [], 0.0
        for text in texts:
            with suppress(ValueError):
                last = float(text)
            numbers.append(last)
        return numbers
