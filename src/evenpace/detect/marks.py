"""Optimizer steps as a yardstick: how many repetitions of a pattern one step takes, and where a step begins.

Marks are rows of (operations issued, optimizer steps taken), read at any moments. With P operations a step,
every row lies within one step of the line operations = P * steps + phase; a wrong P drifts away from it. So
enough steps leave exactly one P, however coarsely the marks were read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Marks = NDArray[np.int64]  # shape (rows, 2): operations issued, optimizer steps taken

MIN_STEPS = 3
_SHORTER = 0.75  # of a repetition: a step that is not one
_SLACK = 0.25  # of a step: operations and steps are not read at the very same moment


def within(marks: Marks, first: int, last: int) -> Marks:
    """Return the rows taken after `first` and up to `last` operations."""
    return marks[(marks[:, 0] >= first) & (marks[:, 0] <= last)]


def steps_spanned(marks: Marks) -> int:
    """Return how many optimizer steps lie between the first and the last row."""
    return int(marks[-1, 1] - marks[0, 1]) if len(marks) else 0


def fits(marks: Marks, operations: float) -> bool:
    """Tell whether so many operations a step can be true."""
    drift = marks[:, 0] - operations * marks[:, 1]
    return bool(drift.max() - drift.min() <= operations * (1 + _SLACK))


def settled(marks: Marks, length: int) -> Marks:
    """Drop the older half of the rows, and again, until repetitions of `length` operations explain the rest.

    Steps are left out at first (a gradient scaler that finds its scale), and accumulation may change.
    """
    while steps_spanned(marks) >= 4 * MIN_STEPS and not _explained(marks, length):
        marks = marks[marks[:, 1] >= (marks[0, 1] + marks[-1, 1]) // 2]
    return marks


def repetitions_a_step(marks: Marks, length: int) -> int | None:
    """Return how many repetitions of `length` operations make a step; None where it is not decided.

    0 where a step is shorter than a repetition (several optimizers, or several iterations in the repetition).
    """
    if _repetitions(marks, length) < _SHORTER:
        return 0
    possible = [count for count in _near(_repetitions(marks, length)) if fits(marks, count * length)]
    return possible[0] if len(possible) == 1 else None


def _repetitions(marks: Marks, length: int) -> float:
    return float((marks[-1, 0] - marks[0, 0]) / max(1, steps_spanned(marks)) / length)


def _near(estimate: float) -> range:
    return range(max(1, int(estimate / 2)), int(estimate * 2) + 2)


def _explained(marks: Marks, length: int) -> bool:
    estimate = _repetitions(marks, length)
    if estimate < _SHORTER:
        return any(fits(marks, length / count) for count in _near(1 / estimate)) if estimate else False
    return any(fits(marks, count * length) for count in _near(estimate))


def phase(marks: Marks, operations: int) -> int:
    """Return the operation count, modulo `operations`, at which a step ends: the latest possible."""
    return int((marks[:, 0] - operations * marks[:, 1]).min() % operations)
