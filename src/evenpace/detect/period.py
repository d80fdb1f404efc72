"""Find the iteration in the sequence of operations of one worker: by exact repetition, from the end.

An autocorrelation above a threshold (Falcon, 0.95 at the first lag) mistakes the inner repetition of many
layers or micro-batches for the iteration. Here the end of the sequence must repeat exactly, and the lag whose
repetition reaches back farthest wins. Rare symbols (extra operations) are then told apart from the iteration.

The sequence alone cannot tell M identical micro-batches a step from M iterations, nor buckets of equal bytes
from one bucket: `marks` decide; without them the answer is the micro-batch (for a single symbol, `enter_ns`
may decide).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenpace.detect import marks as steps
from evenpace.detect.marks import Marks
from evenpace.detect.repetition import (
    Integers,
    inner_repetitions,
    regular_symbols,
    repeated_lags,
    suffix_runs,
    without_rare,
)
from evenpace.detect.rotation import burst_length, rotate

WINDOW = 16_384  # operations looked at, from the end
MIN_REPEATS = 3
_NOISE_SHARE = 0.1  # of rare symbols, at most, that may be dropped to find a repetition
# Where no marks decide: the share of extra operations in a block, at most, and in a block of many iterations.
_EXTRA_SHARE, _EXTRA_SHARE_OF_MANY, _MANY = 0.1, 1 / 3, 5
_LEVELS = 3
# Operations that must repeat where no step confirms the iteration: short stretches may be inner ones.
_SINGLE_SYMBOL, _POINT_TO_POINT, _NO_STEPS, _OTHER_STEPS = 128, 1024, 1024, 4096


@dataclass(frozen=True, slots=True)
class Period:
    """One iteration of a worker: `length` operations, in canonical rotation.

    `start` is the index at which the pattern first occurs (extra operations aside, and where steps decided,
    at the beginning of a step). `repeats` iterations were verified, without a break but for extra operations;
    a block of `super_period` iterations and their extra operations repeats exactly.
    """

    length: int
    pattern: Integers
    start: int
    repeats: int
    super_period: int

    def same_as(self, other: Period) -> bool:
        """Tell whether both are the same cycle of operations, however rotated."""
        doubled = np.concatenate([self.pattern, self.pattern])
        return self.length == other.length and find_exact(doubled, other.pattern) is not None

    def tiles(self, other: Period) -> bool:
        """Tell whether the other is several of this one and a few extra operations."""
        own = np.isin(other.pattern, self.pattern)
        count = int(own.sum()) // self.length
        if not _plausible(other.pattern, own, count):
            return False
        return find_exact(np.tile(self.pattern, count + 1), other.pattern[own]) is not None


@dataclass(frozen=True, slots=True)
class _Cycle:
    """A repetition among the kept operations: `lag` long in the sequence, `length` long as an iteration."""

    kept: Integers  # indices into the window
    first: int  # index into `kept` from which it repeats
    lag: int
    length: int
    super_period: int = 1
    boundary: int | None = None  # an index into `kept`, modulo `length`, where a step ends


def find_period(
    symbols: Integers, enter_ns: Integers | None = None, marks: Marks | None = None
) -> Period | None:
    """Return the iteration that the end of `symbols` repeats exactly three times or more, or None.

    `symbols`, `enter_ns`: one an operation, in order of issue (`symbols.encode`). `marks`: shape (rows, 2),
    operations issued since `symbols[0]` and optimizer steps taken, read at any moments, in order; None where
    they cannot be known, no rows where they are not known yet.
    """
    offset = max(0, len(symbols) - WINDOW)
    if len(symbols) < MIN_REPEATS:
        return None
    window = symbols[offset:]
    seen = None if marks is None else (marks - np.array([offset, 0]))[marks[:, 0] >= offset]
    levels = (_level(window, mask, seen) for mask in without_rare(window, _NOISE_SHARE, _LEVELS))
    cycle = next((found for found in levels if found is not None), None)
    if cycle is None:
        return None
    enter = None if enter_ns is None else enter_ns[offset:]
    if enter is not None and seen is None and cycle.length == 1:
        cycle = _by_burst(cycle, enter)
    return _period(symbols, offset, cycle, enter)


def find_exact(sequence: Integers, pattern: Integers) -> int | None:
    """Return the index of the first exact occurrence of the pattern, or None."""
    haystack, needle = sequence.tobytes(), pattern.tobytes()
    width = sequence.itemsize
    at = haystack.find(needle)
    while at >= 0 and at % width:
        at = haystack.find(needle, at + 1)
    return at // width if at >= 0 else None


def _level(window: Integers, mask: NDArray[np.bool_], marks: Marks | None) -> _Cycle | None:
    """Look for the cycle among the operations of a mask; take back what was dropped but is regular."""
    if marks is None and _hollow(window, mask):
        return None
    cycle = _cycle(window, np.flatnonzero(mask), marks)
    if cycle is None or mask.all():
        return cycle
    repetitions = (len(cycle.kept) - cycle.first) // cycle.length - 1  # all but the last, whose end is open
    begins = cycle.kept[cycle.first :: cycle.length]
    repetition = np.searchsorted(begins, np.arange(len(window)), side="right") - 1
    regular = regular_symbols(window, repetition, repetitions)
    return _cycle(window, np.flatnonzero(mask | np.isin(window, regular)), marks)


def _cycle(window: Integers, kept: Integers, marks: Marks | None) -> _Cycle | None:
    sequence = window[kept]
    runs = suffix_runs(sequence)
    lags = repeated_lags(runs, MIN_REPEATS)
    if not lags:
        return None
    cycles = [_Cycle(kept, len(kept) - int(runs[lag]) - lag, lag, lag) for lag in lags]
    if marks is None:
        return _without_steps(window, cycles[0])
    return _with_steps(window, cycles, np.column_stack([np.searchsorted(kept, marks[:, 0]), marks[:, 1]]))


def _without_steps(window: Integers, cycle: _Cycle) -> _Cycle | None:
    if not _enough(window, cycle):
        return None
    block = window[cycle.kept[len(cycle.kept) - cycle.lag :]]
    found = cycle
    for mask, length in inner_repetitions(block):
        count = int(mask.sum()) // length
        if _plausible(block, mask, count):
            found = _reduced(window, cycle, block[mask], length, count)
    return found


def _with_steps(window: Integers, cycles: list[_Cycle], marks: Marks) -> _Cycle | None:
    """Take the longest cycle that optimizer steps confirm; `marks` count kept operations."""
    for cycle in cycles:
        inside = steps.settled(steps.within(marks, cycle.first, len(cycle.kept)), cycle.lag)
        if steps.steps_spanned(inside) < steps.MIN_STEPS:
            break
        repetitions = steps.repetitions_a_step(inside, cycle.lag)
        if repetitions is None:
            return None
        if repetitions:
            return _of_steps(cycle, repetitions, inside)
        if inner := _inner_of_steps(window, cycle, inside):
            return inner
    return _unconfirmed(window, cycles[0], marks)


def _of_steps(cycle: _Cycle, repetitions: int, marks: Marks) -> _Cycle | None:
    length = cycle.lag * repetitions
    if len(cycle.kept) - cycle.first < MIN_REPEATS * length:
        return None
    return replace(cycle, length=length, boundary=steps.phase(marks, length) if repetitions > 1 else None)


def _inner_of_steps(window: Integers, cycle: _Cycle, marks: Marks) -> _Cycle | None:
    """Split a block of several steps and their extra operations, if exactly one way agrees with the steps."""
    block = window[cycle.kept[len(cycle.kept) - cycle.lag :]]
    ways: dict[int, _Cycle] = {}
    for mask, length in inner_repetitions(block):
        count = int(mask.sum()) // length
        for iterations in (n for n in range(2, count + 1) if count % n == 0 and n not in ways):
            if steps.fits(marks, cycle.lag / iterations):
                piece = length * count // iterations
                ways[iterations] = _reduced(window, cycle, block[mask], piece, iterations)
    return next(iter(ways.values())) if len(ways) == 1 else None


def _unconfirmed(window: Integers, cycle: _Cycle, marks: Marks) -> _Cycle | None:
    """Accept a cycle that steps do not confirm: two steps in it (two optimizers), or long repetition."""
    inside = steps.within(marks, cycle.first, len(cycle.kept))
    covered = len(cycle.kept) - cycle.first
    two = steps.steps_spanned(inside) >= 2 * steps.MIN_STEPS and steps.fits(inside, cycle.lag / 2)
    least = _OTHER_STEPS if marks[:, 1].any() else _NO_STEPS
    return _without_steps(window, cycle) if two or covered >= least else None


def _reduced(window: Integers, cycle: _Cycle, piece: Integers, length: int, super_period: int) -> _Cycle:
    """Return the cycle among those of its operations whose symbols occur in `piece`."""
    keep = np.isin(window[cycle.kept], piece)
    first = int(keep[: cycle.first].sum())
    return _Cycle(cycle.kept[keep], first, length, length, super_period)


def _hollow(symbols: Integers, mask: NDArray[np.bool_]) -> bool:
    """Tell whether what was dropped may be what makes an iteration of the rest: too little is left.

    That is where only one symbol is left (buckets of equal bytes and another one), or only send and recv of
    something that has collectives (micro-batches and the gradients' reduction).
    """
    kept, dropped = symbols[mask], symbols[~mask]
    return bool(len(dropped) and ((kept == kept[0]).all() or ((kept < 0).all() and (dropped >= 0).any())))


def _plausible(block: Integers, mask: NDArray[np.bool_], count: int) -> bool:
    """Tell whether a block may be `count` iterations of what a mask keeps, and extra operations."""
    share = _EXTRA_SHARE if count < _MANY else _EXTRA_SHARE_OF_MANY
    return count > 1 and (~mask).sum() <= share * len(block) and not _hollow(block, mask)


def _enough(window: Integers, cycle: _Cycle) -> bool:
    total = len(cycle.kept)
    covered = total - cycle.first
    pattern = window[cycle.kept[total - cycle.lag :]]
    least = _POINT_TO_POINT if (pattern < 0).all() else _SINGLE_SYMBOL if cycle.lag == 1 else 0
    return covered >= max(least, min(0.75 * total, 512), total / 8)


def _by_burst(cycle: _Cycle, enter_ns: Integers) -> _Cycle:
    """Take equal operations that come in bursts of equal size for one iteration a burst."""
    length, boundary = burst_length(enter_ns[cycle.kept[cycle.first :]])
    return replace(cycle, length=length, boundary=cycle.first + boundary if length > 1 else None)


def _period(symbols: Integers, offset: int, cycle: _Cycle, enter_ns: Integers | None) -> Period:
    kept, length = cycle.kept[cycle.first :], cycle.length
    sequence = symbols[offset + kept]
    turn = rotate(sequence, cycle.lag, None if enter_ns is None else enter_ns[kept])
    if cycle.boundary is not None:  # the last beginning of a repetition before the step ended
        step = (cycle.boundary - cycle.first) % length
        turn = (step - (step - turn) % cycle.lag) % length
    pattern = np.resize(np.roll(sequence[:length], -turn), length)
    start = offset + int(kept[turn])
    if cycle.boundary is None and (earlier := find_exact(symbols[:start], pattern)) is not None:
        start = earlier
    return Period(length, pattern, start, len(kept) // length, cycle.super_period)
