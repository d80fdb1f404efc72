"""What an iteration should take for the work it had: batches of packed sequences, unevenly routed experts.

Attention costs go with the sum of squared lengths, the rest with the tokens, experts with what is routed to
them (compare ResiHP, arXiv 2605.06374); a synchronous iteration takes what its most loaded rank needs.
Without this, varied work reads as noise, and a stretch of long sequences as a slow job.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ROUNDS = 8  # of reweighting, in which the most loaded rank is chosen anew as well
HUBER = 1.5  # times the spread from which on an iteration counts less
OUTLYING = 4.5  # median deviations beyond which a spike counts no more
WORTH = 0.75  # of the spread: what must at most be left on iterations that the fit did not see
FARTHEST = 4.0  # times the usual: no prediction goes beyond


@dataclass(frozen=True, slots=True)
class Workload:
    """Seconds of an iteration: `fixed`, and `rates` per unit of each kind of work of the most loaded rank.

    `usual` is the prediction for the median iteration that was learned.
    """

    fixed: float
    rates: Array
    usual: float

    def factor(self, work: Array) -> float:
        """Return how much longer than usual an iteration with this work takes; `work` is [ranks, kinds]."""
        predicted = self.fixed + float((work @ self.rates).max())
        return float(np.clip(predicted / self.usual, 1 / FARTHEST, FARTHEST))


def learn(durations: Array, work: Array) -> Workload | None:
    """Fit seconds [iterations] to work [iterations, ranks, kinds]; None where it explains too little.

    All coefficients are non-negative. It is judged by what is left on the half that the fit did not see.
    """
    even = np.arange(len(durations)) % 2 == 0
    left = [
        np.log(durations[~half]) - np.log(_predict(work[~half], *_fit(durations[half], work[half])))
        for half in (even, ~even)
    ]
    if _spread(np.concatenate(left)) > WORTH * _spread(np.log(durations)):
        return None
    fixed, rates = _fit(durations, work)
    return Workload(fixed, rates, float(np.median(_predict(work, fixed, rates))))


def _spread(logs: Array) -> float:
    """Return the mean deviation of logs from their median, what is far off clipped."""
    away = np.abs(logs - np.median(logs))
    return float(np.minimum(away, OUTLYING * np.median(away)).mean())


def _predict(work: Array, fixed: float, rates: Array) -> Array:
    return np.asarray(np.maximum(fixed + (work @ rates).max(axis=1), 1e-12))


def _fit(durations: Array, work: Array) -> tuple[float, Array]:
    """Fit by Huber's weights; the rank that the fit so far finds most loaded explains an iteration."""
    rows = np.arange(len(durations))
    weights = np.ones(len(durations))
    rates = 1 / np.maximum(work.max(axis=1).mean(axis=0), 1e-12)
    fixed = 0.0
    for _ in range(ROUNDS):
        loaded = work[rows, (work @ rates).argmax(axis=1)]
        fixed, rates = _nonnegative(durations, loaded, weights)
        residuals = np.abs(durations - _predict(work, fixed, rates))
        spread = max(1.4826 * float(np.median(residuals)), 1e-12)
        weights = np.minimum(1.0, HUBER * spread / np.maximum(residuals, 1e-12)) ** 2
    return fixed, rates


def _nonnegative(durations: Array, loaded: Array, weights: Array) -> tuple[float, Array]:
    """Solve weighted least squares with no coefficient below 0, by trying every subset of the few columns."""
    scale = np.maximum(loaded.mean(axis=0), 1e-12)
    columns = np.column_stack([np.ones(len(durations)), loaded / scale])
    root = np.sqrt(weights)
    best, solution = np.inf, np.zeros(columns.shape[1])
    for size in range(1, columns.shape[1] + 1):
        for subset in map(list, combinations(range(columns.shape[1]), size)):
            found = np.linalg.lstsq(columns[:, subset] * root[:, None], durations * root, rcond=None)[0]
            cost = float(np.sum(weights * (durations - columns[:, subset] @ found) ** 2))
            if found.min() >= 0 and cost < best * (1 - 1e-9):
                best, solution = cost, np.zeros(columns.shape[1])
                solution[subset] = found
    return float(solution[0]), np.asarray(solution[1:] / scale)
