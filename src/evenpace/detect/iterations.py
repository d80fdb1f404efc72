"""Cut the stream of one worker's operations into iterations, as it comes.

Everything is decided at fixed places of the stream, so the spans do not depend on how the stream is cut into
batches (but for the moments at which optimizer steps are read).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from evenpace.detect.period import WINDOW, Period, find_exact, find_period
from evenpace.detect.repetition import Integers

_FIRST_SEARCH = 12  # operations
_MARKS = 4096
_NEVER = 2**62
_GONE = 1024  # operations of another pattern that make a change, where no optimizer steps are known
_UNCLEAN = 4  # iterations in a row that make us look for another pattern


@dataclass(frozen=True, slots=True)
class IterationSpan:
    """One iteration: operations `first` to `last` (both included) of the worker's stream.

    `start_ns` is the enter of its first operation, `end_ns` that of the next one's first. `extra` counts
    operations that do not belong to the pattern; where it is not 0, the duration may hold more than an
    iteration.
    """

    first: int
    last: int
    start_ns: int
    end_ns: int
    extra: int


class IterationTracker:
    """Recognise and follow the iteration of one worker. Holds at most a few windows of operations."""

    def __init__(self) -> None:
        self.period: Period | None = None
        self.period_changes = 0
        self._symbols: Integers = np.zeros(0, np.int64)
        self._enter: Integers = np.zeros(0, np.int64)
        self._base = 0  # index of the oldest operation held
        self._marks: deque[tuple[int, int]] | None = None
        self._position = 0  # operations before it are dealt with
        self._look_at = _FIRST_SEARCH  # next regular search, in the whole window
        self._suspect_at = _NEVER  # next search in what came since the pattern was lost
        self._searched = 0  # no search before this position any more
        self._start = self._start_ns = 0  # of the current iteration
        self._matched = self._extra = 0  # operations of the current iteration: of the pattern, and others
        self._patience = 0
        self._unclean = 0  # iterations with extra operations in a row
        self._trouble: int | None = None  # where the first of them began

    def feed(
        self, symbols: Integers, enter_ns: Integers, optimizer_steps: int | None = None
    ) -> list[IterationSpan]:
        """Take the worker's next operations, in order of issue; return the iterations that are complete now.

        `symbols` as `symbols.encode` makes them, `enter_ns` on any one clock; `optimizer_steps`: how many the
        worker has taken by now, where that is known. Once the iteration is recognised, all earlier ones that
        are like it are returned too.
        """
        self._symbols = np.concatenate([self._symbols, symbols])
        self._enter = np.concatenate([self._enter, enter_ns])
        total = self._base + len(self._symbols)
        if optimizer_steps is not None:
            self._mark(total, optimizer_steps)
        spans: list[IterationSpan] = []
        while self._position < total:
            self._advance(total, spans)
            if self._position in (self._look_at, self._suspect_at):
                self._search(spans)
        self._forget()
        return spans

    def _mark(self, total: int, optimizer_steps: int) -> None:
        self._marks = deque(maxlen=_MARKS) if self._marks is None else self._marks
        if not self._marks or self._marks[-1] != (total, optimizer_steps):
            self._marks.append((total, optimizer_steps))

    def _advance(self, total: int, spans: list[IterationSpan]) -> None:
        """Go on to the end of what is known, or to the next search."""
        if self.period is None:
            self._position = self._stop(total)
            return
        while self._position < self._stop(total):
            if self._matched == self.period.length:
                self._await_next(self.period, spans)
            else:
                self._match(self.period, self._stop(total))
            if self._extra >= self._patience:
                self._patience += self._patience // 2
                self._suspect()

    def _match(self, period: Period, limit: int) -> None:
        """Match the rest of the pattern, up to the first operation that is not the expected one."""
        expected = period.pattern[self._matched :][: limit - self._position]
        at = self._position - self._base
        equal = self._symbols[at : at + len(expected)] == expected
        count = len(expected) if equal.all() else int(equal.argmin())
        self._matched += count
        self._position += count
        if count < len(expected):
            self._extra += 1
            self._position += 1

    def _await_next(self, period: Period, spans: list[IterationSpan]) -> None:
        """Close the iteration if the next operation begins another one."""
        if self._symbols[self._position - self._base] == period.pattern[0]:
            self._judge(self._extra == 0)
            self._close(self._position, self._extra, spans)
            self._matched = 1
            self._position += 1
        else:
            self._extra += 1
            self._position += 1

    def _close(self, end: int, extra: int, spans: list[IterationSpan]) -> None:
        end_ns = int(self._enter[end - self._base])
        spans.append(IterationSpan(self._start, end - 1, self._start_ns, end_ns, extra))
        self._begin(end)

    def _begin(self, start: int) -> None:
        self._start, self._start_ns = start, int(self._enter[start - self._base])
        self._matched = self._extra = 0
        self._patience = max(32, 2 * self.period.length) if self.period else 0

    def _judge(self, clean: bool) -> None:
        """Count iterations with extra operations in a row; doubt the pattern now and then."""
        if clean:
            self._unclean, self._trouble = 0, None
            return
        self._unclean += 1
        self._trouble = self._start if self._trouble is None else self._trouble
        if self._unclean >= _UNCLEAN and self._unclean & (self._unclean - 1) == 0:
            self._suspect()

    def _suspect(self) -> None:
        self._trouble = self._start if self._trouble is None else self._trouble
        self._suspect_at = min(self._suspect_at, max(self._position + 1, self._searched))

    def _stop(self, total: int) -> int:
        return min(total, self._look_at, self._suspect_at)

    def _search(self, spans: list[IterationSpan]) -> None:
        """Look for the period in the window before the position, or in what came since it was lost."""
        here, regular = self._position, self._position == self._look_at
        begin = max(here - WINDOW, 0 if regular or self._trouble is None else self._trouble)
        found = self._find(begin, here)
        self._searched, self._suspect_at = here + 1, _NEVER
        if found is not None and self.period is None:
            self.period = found
            self._begin(begin + found.start)
            self._position = self._start
        elif found is not None and self.period is not None and self._is_change(self.period, found):
            self._change(found, begin, here, spans)
        if regular:
            self._look_at = here + (
                max(4, (here - begin) // 4) if self.period is None else max(64, here - begin)
            )

    def _find(self, begin: int, end: int) -> Period | None:
        held = slice(begin - self._base, end - self._base)
        if self._marks is None:
            return find_period(self._symbols[held], self._enter[held])
        known = [(at - begin, count) for at, count in self._marks if begin <= at <= end]
        return find_period(self._symbols[held], self._enter[held], np.array(known, np.int64).reshape(-1, 2))

    def _is_change(self, period: Period, found: Period) -> bool:
        if self._marks is None and (found.repeats * found.length < _GONE or period.tiles(found)):
            return False
        return not period.same_as(found)

    def _change(self, found: Period, begin: int, here: int, spans: list[IterationSpan]) -> None:
        """Follow another pattern from its first occurrence in the current iteration or after it."""
        self.period, self.period_changes = found, self.period_changes + 1
        self._unclean, self._trouble = 0, None
        oldest = max(begin, self._start)
        ahead = begin + found.start + max(0, -((begin + found.start - oldest) // found.length)) * found.length
        held = self._symbols[oldest - self._base : here - self._base]
        at = ahead - oldest
        if not np.array_equal(held[at : at + found.length], found.pattern):
            exact = find_exact(held, found.pattern)
            at = int((held == found.pattern[0]).argmax()) if exact is None else exact
        if oldest + at > self._start:
            self._close(oldest + at, oldest + at - self._start, spans)
        else:
            self._begin(self._start)
        self._position = self._start

    def _forget(self) -> None:
        """Drop operations that no search will look at again, a window at a time."""
        if self._position - self._base > 2 * WINDOW:
            drop = self._position - WINDOW - self._base
            self._symbols, self._enter = self._symbols[drop:].copy(), self._enter[drop:].copy()
            self._base += drop
