"""Take out of the ranks' own times what more or less work explains: packed sequences, experts' load.

A rank that got more tokens, or whose experts are more in demand, works longer and is not slow. How much
longer is learned from iterations in which nobody is: one slope a kind of work, shared by all ranks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
OUTLYING = 6.0  # deviations (MAD) beyond which a time says nothing about work
EXPLAINED = 0.25  # of the times' spread: work that explains less is left alone


def slopes(busy: Array, work: Array) -> Array:
    """Return the seconds that a unit of each kind of work takes, shape [kinds]; 0 where it explains nothing.

    `busy` (seconds) [iterations, ranks] and `work` [iterations, ranks, kinds] are deviations from the usual.
    """
    times, amounts = busy.ravel(), work.reshape(-1, work.shape[-1])
    spread = 1.4826 * float(np.median(np.abs(times)))
    kept = np.abs(times) <= OUTLYING * spread
    found = np.zeros(work.shape[-1])
    scale = amounts[kept].std(axis=0) if kept.any() else found
    used = np.flatnonzero(scale > 0)
    while len(used):
        fitted = np.linalg.lstsq(amounts[kept][:, used] / scale[used], times[kept], rcond=None)[0]
        if (fitted >= 0).all():
            rest = times[kept] - amounts[kept][:, used] / scale[used] @ fitted
            if rest.std() ** 2 <= (1 - EXPLAINED) * times[kept].std() ** 2:
                found[used] = fitted / scale[used]
            break
        used = np.delete(used, fitted.argmin())  # more work never takes less time
    return found


def level(healthy: Array, slow: Array, healthy_work: Array, slow_work: Array) -> tuple[Array, Array]:
    """Return both stretches' own times as they were with each rank's usual work; shapes as in `slopes`."""
    usual = np.median(healthy_work, axis=0)
    cost = slopes(healthy - np.median(healthy, axis=0), healthy_work - usual)
    return healthy - (healthy_work - usual) @ cost, slow - (slow_work - usual) @ cost


def level_peers(busy: Array, work: Array) -> Array:
    """Return own times as if all ranks had the same work in each iteration; shapes as in `slopes`."""
    usual = np.median(work, axis=1, keepdims=True)
    cost = slopes(busy - np.median(busy, axis=1, keepdims=True), work - usual)
    return np.asarray(busy - (work - usual) @ cost)
