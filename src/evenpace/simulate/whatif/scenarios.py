"""The scenarios of a what-if analysis: which operations keep what they took, by worker, stage, type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from evenpace.simulate.traces.model import Floats
from evenpace.simulate.whatif.graph import Graph
from evenpace.simulate.whatif.grid import Grid
from evenpace.simulate.whatif.ideal import Mask, at_stage, ideal
from evenpace.simulate.whatif.replay import MOST_CELLS, alone_times, step_times, transfers

Progress = Callable[[int], None]  # scenarios replayed so far


@dataclass(slots=True)
class Bench:
    """Replays scenarios of one trace; times are the mean of its steps, in seconds."""

    grid: Grid
    graph: Graph
    progress: Progress | None = None
    cost: Floats = field(init=False)
    ideal: Floats = field(init=False)
    actual: float = field(init=False)  # of all as it was, without the gaps that no operation explains
    best: float = field(init=False)  # of all ideal
    _done: int = 0

    def __post_init__(self) -> None:
        self.cost = transfers(self.graph, self.grid.start, self.grid.duration)
        self.ideal = ideal(self.grid, self.cost)
        everything = self.mask(True)
        self.actual, self.best = self.times([everything, ~everything])

    def mask(self, value: bool) -> Mask:
        """Return a mask over operations and replicas, all alike."""
        return np.full((len(self.grid.operations), len(self.grid.replicas)), value)

    def worker(self, replica: int, stage: int) -> Mask:
        """Return the operations of a worker (indices of its replica and stage)."""
        mask = self.mask(False)
        mask[at_stage(self.grid, stage), replica] = True
        return mask

    def stage(self, stage: int) -> Mask:
        """Return the operations of a stage in all replicas."""
        return self.rows(at_stage(self.grid, stage))

    def replica(self, replica: int) -> Mask:
        """Return the operations of a replica."""
        mask = self.mask(False)
        mask[:, replica] = True
        return mask

    def rows(self, rows: Mask) -> Mask:
        """Return operations in all replicas."""
        return np.broadcast_to(rows[:, None], (len(rows), len(self.grid.replicas)))

    def times(self, kept: list[Mask], other: Floats | None = None) -> list[float]:
        """Replay: of each scenario, what `kept` marks as it was, the rest ideal (or `other`)."""
        found: list[float] = []
        at_once = max(1, MOST_CELLS // self.cost[..., 0].size)
        for first in range(0, len(kept), at_once):
            masks = np.stack(kept[first : first + at_once])
            times = step_times(self.graph, self.cost, self.ideal if other is None else other, masks)
            found += times.mean(axis=1).tolist()
            self._done += len(masks)
            if self.progress:
                self.progress(self._done)
        return found

    def slowdowns(self, kept: list[Mask]) -> list[float]:
        """Return the slowdown that remains where all but `kept` is ideal (the paper's S_t and S_w)."""
        return [time / self.best if self.best else 1.0 for time in self.times(kept)]

    def replica_slowdowns(self) -> list[float]:
        """Return `slowdowns` of each replica by itself, quicker."""
        times = alone_times(self.graph, self.cost, self.ideal).mean(axis=1)
        return [float(time) / self.best if self.best else 1.0 for time in times]

    def shares(self, fixed: list[Mask]) -> list[float]:
        """Return the share of the slowdown that goes where `fixed` is made ideal (M_W and M_S).

        Above 1 where the rest would be faster than with everything ideal.
        """
        return [self.share(time) for time in self.times([~one for one in fixed])]

    def share(self, time: float) -> float:
        """Return what share of the slowdown a step of `time` seconds would save."""
        lost = self.actual - self.best
        return (self.actual - time) / lost if lost > 0 else 0.0
