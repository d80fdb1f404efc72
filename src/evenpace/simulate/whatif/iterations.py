"""A run's recorded iterations as a block for what-if analysis: own work, then all collectives at once."""

from __future__ import annotations

import numpy as np

from evenpace.simulate.traces.model import Floats, Ints
from evenpace.simulate.whatif.grid import Grid, Operation
from evenpace.simulate.whatif.kinds import MEET, WORK


def grid_of_iterations(ranks: Ints, numbers: Ints, durations: Floats, busy: Floats, transfer: Floats) -> Grid:
    """Return a block of two operations a rank: its own work, and what all do together once the last is there.

    Arrays are seconds, shape [iterations, ranks]. That is what an iteration of data parallelism comes to
    where one worker is late all along; where workers take turns in being late, or pass results on in a
    pipeline, the replay is shorter than the recording and must not be believed.
    """
    start = np.zeros((2, len(ranks), len(numbers)))
    start[1] = busy.max(axis=1)
    return Grid(
        operations=(Operation(WORK, 0, 0, -1, -1), Operation(MEET, 0, 0, -1, -1)),
        replicas=np.arange(len(ranks)),
        stages=np.zeros(1, dtype=np.int64),
        steps=numbers,
        ranks=ranks[:, None],
        start=start,
        duration=np.stack([busy.T, transfer.T]),
        recorded=np.median(durations, axis=1),
    )
