"""Exact repetition in a sequence of integers: at its end, in a block, and of single symbols."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def suffix_runs(sequence: Integers) -> Integers:
    """Return, for each lag, how many of the last elements equal the one `lag` before, without a break.

    The Z function of the reversed sequence, in linear time (Gusfield, Algorithms on Strings, 1.4). The entry
    of lag 0 is 0.
    """
    backwards: list[int] = sequence[::-1].tolist()
    size = len(backwards)
    runs = [0] * size
    left = right = 0
    for lag in range(1, size):
        run = 0
        if lag < right:
            run = runs[lag - left]
            if run < right - lag:
                runs[lag] = run
                continue
            run = right - lag
        while lag + run < size and backwards[run] == backwards[lag + run]:
            run += 1
        runs[lag] = run
        left, right = lag, lag + run
    return np.array(runs, np.int64)


def repeated_lags(runs: Integers, least: int) -> list[int]:
    """Return lags, longest run first, at which the end repeats `least` times or more; no multiples.

    Empty where the longest run of all belongs to a lag that repeats less: what repeats more often in the end
    is then an inner repetition of something that was not seen often enough.
    """
    if len(runs) < 2 or runs.max() == 0:
        return []
    records = np.flatnonzero(runs > np.concatenate(([0], np.maximum.accumulate(runs)[:-1])))
    often = [int(lag) for lag in records if runs[lag] >= (least - 1) * lag]
    return often[::-1] if often and often[-1] == records[-1] else []


def cyclic_length(block: Integers) -> int:
    """Return the length of the shortest piece whose repetition is the block."""
    size = len(block)
    runs = suffix_runs(block)
    lags = np.arange(size)
    whole = (lags > 0) & (runs + lags == size)
    divides = np.flatnonzero(whole)[size % np.flatnonzero(whole) == 0]
    return int(divides[0]) if len(divides) else size


def inner_repetitions(block: Integers) -> Iterator[tuple[NDArray[np.bool_], int]]:
    """Yield (mask, piece length) where the block without its rarest symbols is a piece repeated."""
    _, symbol, count = np.unique(block, return_inverse=True, return_counts=True)
    for threshold in np.unique(count)[1:]:
        mask = (count >= threshold)[symbol]
        length = cyclic_length(block[mask])
        if 2 * length <= int(mask.sum()):
            yield mask, length


def without_rare(symbols: Integers, share: float, levels: int) -> Iterator[NDArray[np.bool_]]:
    """Yield masks that keep all symbols, then fewer of the rare ones, dropping up to `share` of all elements.

    The cuts, `levels` at most, are where the symbols' counts differ most: between extras and the iteration.
    """
    _, symbol, count = np.unique(symbols, return_inverse=True, return_counts=True)
    distinct = np.unique(count)
    dropped = np.array([count[count < threshold].sum() for threshold in distinct])
    cuts = np.flatnonzero(dropped[1:] <= share * len(symbols)) + 1
    widest = cuts[np.argsort(distinct[cuts - 1] / distinct[cuts], kind="stable")][:levels]
    for threshold in distinct[[0, *np.sort(widest)]]:
        yield (count >= threshold)[symbol]


def regular_symbols(symbols: Integers, repetition: Integers, repetitions: int) -> Integers:
    """Return the symbols that occur equally often, and at least once, in each of the repetitions.

    `repetition` is the number of each operation's repetition, 0 to `repetitions` - 1; others are ignored.
    """
    values, symbol = np.unique(symbols, return_inverse=True)
    inside = (repetition >= 0) & (repetition < repetitions)
    cell = symbol[inside] * repetitions + repetition[inside]
    table = np.bincount(cell, minlength=len(values) * repetitions).reshape(len(values), repetitions)
    regular: Integers = values[(table == table[:, :1]).all(axis=1) & (table[:, 0] > 0)]
    return regular
