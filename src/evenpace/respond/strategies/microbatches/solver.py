"""How many micro-batches each replica gets so that the slowest is done as soon as possible: exact.

Replica i needs T_i = f_i + m_i tau_i; max T_i is minimised by bisection on T, in which each replica takes
what it can do by then. (Falcon, arXiv 2410.12588, minimises the variance of T_i instead, which is not the
same for integers, by a mixed-integer program that takes 36 s for 512 replicas.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Split:
    """Micro-batches by replica, and the seconds that the slowest of them needs."""

    counts: Counts
    seconds: float


def even(total: int, replicas: int) -> Counts:
    """Return the counts of a healthy job: equal, or the first replicas one more."""
    counts = np.full(replicas, total // replicas, np.int64)
    counts[: total % replicas] += 1
    return counts


def times(fixed: Floats, each: Floats, counts: Counts) -> Floats:
    """Return what each replica needs: `fixed + counts * each`."""
    return fixed + counts * each


def solve(
    fixed: ArrayLike, each: ArrayLike, total: int, *, minimum: int = 1, present: Sequence[int] | None = None
) -> Split:
    """Return the counts, `minimum` or more and `total` in all, with the least longest time.

    `fixed` and `each` are seconds by replica. Of several optima it is one with the least change from
    `present` (even counts where not given), and always the same one. Raises ValueError for times that are
    not finite, an `each` that is not above 0, or a total below the minimum of all.
    """
    start, slope = np.asarray(fixed, np.float64), np.asarray(each, np.float64)
    least = np.full(len(slope), minimum, np.int64)
    _check(start, slope, total, minimum)
    most = np.full(len(slope), total, np.int64)
    seconds = float(times(start, slope, _fill(start, slope, least, most, total)).max())
    most = _within(start, slope, seconds, least, most)
    wanted = even(total, len(slope)) if present is None else np.asarray(present, np.int64)
    near = np.clip(wanted, least, most)
    low, high = (near, most) if near.sum() <= total else (least, near)
    return Split(_fill(start, slope, low, high, total), seconds)


def _check(fixed: Floats, each: Floats, total: int, minimum: int) -> None:
    if fixed.shape != each.shape or fixed.ndim != 1 or not len(each):
        raise ValueError("fixed and each are two lists of the same length")
    if not (np.isfinite(fixed).all() and np.isfinite(each).all() and (each > 0).all()):
        raise ValueError("all times have to be finite, and those of a micro-batch above 0")
    if minimum < 0 or total < minimum * len(each):
        raise ValueError(
            f"{total} micro-batches are too few for {len(each)} replicas, {minimum} or more each"
        )


def _within(fixed: Floats, each: Floats, seconds: float, least: Counts, most: Counts) -> Counts:
    """Return how many micro-batches each replica can do in `seconds`, between `least` and `most`."""
    counts = np.clip(np.floor((seconds - fixed) / each), least, most)
    counts += (counts < most) & (fixed + (counts + 1) * each <= seconds)  # where the division was rounded
    counts -= (counts > least) & (fixed + counts * each > seconds)
    return counts.astype(np.int64)


def _fill(fixed: Floats, each: Floats, least: Counts, most: Counts, total: int) -> Counts:
    """Return counts between `least` and `most`, `total` in all, with the least longest time.

    The greedy answer (each micro-batch to whoever is done with it first), by bisection.
    """
    low, high = float(times(fixed, each, least).min()), float(times(fixed, each, most).max())
    low = np.nextafter(low, -np.inf)
    below, above = least, most  # counts at `low`, `total` or fewer, and at `high`
    while (middle := low + (high - low) / 2) not in (low, high):
        counts = _within(fixed, each, middle, least, most)
        if counts.sum() <= total:
            low, below = middle, counts
        else:
            high, above = middle, counts
        if below.sum() == total:
            return below
    spare = np.cumsum(above - below)  # what is done at `high` exactly
    left = total - int(below.sum())
    added: Counts = np.diff(np.minimum(spare, left), prepend=0)
    return below + added
