"""What an operation should cost: the mean of its type for work, the median for communication."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenpace.simulate.traces.model import Floats
from evenpace.simulate.whatif.grid import Grid
from evenpace.simulate.whatif.kinds import BACKWARD, COMMUNICATION, COMPUTE, FORWARD

Mask = NDArray[np.bool_]


def of_type(grid: Grid, *kinds: str) -> Mask:
    """Return which operations are of one of the types, shape [operations]."""
    return np.array([one.type in kinds for one in grid.operations], dtype=np.bool_)


def at_stage(grid: Grid, stage: int) -> Mask:
    """Return which operations are of a stage (an index), shape [operations]."""
    return np.array([one.stage == stage for one in grid.operations], dtype=np.bool_)


def ideal(grid: Grid, cost: Floats) -> Floats:
    """Return the ideal cost of each operation, in seconds, shape [operations, 1, 1].

    Over replicas, stages, micro-batches and steps: the mean of work, so that its sum stays the same, and the
    median of communication, whose tail is trouble (arXiv 2505.05713).
    """
    values = np.zeros((len(grid.operations), 1, 1))
    for kind in grid.types:
        rows = of_type(grid, kind)
        values[rows] = np.median(cost[rows]) if kind in COMMUNICATION else cost[rows].mean()
    return values


def evened(grid: Grid, cost: Floats) -> Floats:
    """Return the cost with each worker's micro-batches all alike: its own mean of the type."""
    values = cost.copy()
    for kind in COMPUTE:
        for stage in range(len(grid.stages)):
            rows = of_type(grid, kind) & at_stage(grid, stage)
            if rows.any():
                values[rows] = cost[rows].mean(axis=(0, 2))[None, :, None]
    return values


def own_times(grid: Grid, cost: Floats) -> Floats:
    """Return each worker's computation in a step, in seconds, shape [replicas, stages, steps]."""
    shape = (len(grid.replicas), len(grid.stages), cost.shape[2])
    found = np.zeros(shape)
    computes = of_type(grid, *COMPUTE)
    for stage in range(len(grid.stages)):
        found[:, stage] = cost[computes & at_stage(grid, stage)].sum(axis=0)
    return found


def agreement(grid: Grid, cost: Floats) -> float:
    """Return how far forward and backward of the same micro-batch are long together (correlation, -1 to 1).

    Near 1 the micro-batches differ in their work, as by sequence lengths (arXiv 2505.05713 takes 0.9); a slow
    machine or jitter does not tie them. Workers' own levels are taken out first. 0 where it cannot be known.
    """
    pairs = [_deviations(grid, cost, stage) for stage in range(len(grid.stages))]
    forward = np.concatenate([pair[0] for pair in pairs])
    backward = np.concatenate([pair[1] for pair in pairs])
    if len(forward) < 3 or not forward.std() or not backward.std():
        return 0.0
    return float(np.corrcoef(forward, backward)[0, 1])


def _deviations(grid: Grid, cost: Floats, stage: int) -> tuple[Floats, Floats]:
    rows = {
        (one.type, one.mb, one.chunk): at
        for at, one in enumerate(grid.operations)
        if one.stage == stage and one.type in COMPUTE and one.mb >= 0
    }
    both = [
        (at, rows[BACKWARD, mb, chunk])
        for (kind, mb, chunk), at in rows.items()
        if kind == FORWARD and (BACKWARD, mb, chunk) in rows
    ]
    if not both:
        return np.empty(0), np.empty(0)
    found = [cost[[pair[side] for pair in both]] for side in (0, 1)]
    first, second = (one / np.maximum(one.mean(axis=(0, 2), keepdims=True), 1e-12) - 1 for one in found)
    return first.reshape(-1), second.reshape(-1)
