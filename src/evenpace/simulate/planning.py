"""The planner on a trace: what could have been done about its slow workers, and when it would have paid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenpace.respond.mitigation.weighing import weigh
from evenpace.respond.planner import Standing
from evenpace.respond.strategies import Cause, Job, MicroBatchOffer, Trouble
from evenpace.respond.strategies.catalogue import strategies
from evenpace.simulate.traces.model import Floats
from evenpace.simulate.whatif import analysis
from evenpace.simulate.whatif.grid import Grid
from evenpace.simulate.whatif.ideal import own_times
from evenpace.simulate.whatif.kinds import FORWARD


@dataclass(frozen=True, slots=True)
class Plan:
    """A strategy that would help: its price and the step time under it, in seconds.

    `after` is how many slow steps it takes until the planner chooses it, None where the trace is too short;
    `counts` the micro-batches by replica.
    """

    strategy: str
    cost: float
    step: float
    after: int | None
    counts: tuple[int, ...] = ()


def plans(grid: Grid, cost: Floats, found: analysis.WhatIf) -> list[Plan]:
    """Weigh all strategies against a trace whose slow workers are named, step by step.

    Supposed: a loop that can split its micro-batches. A trace does not tell what a restart costs, so it is
    not weighed.
    """
    blame = found.blames[0]
    if blame.cause is not analysis.Cause.WORKER:
        return []
    healthy = found.actual - blame.share * (found.actual - found.ideal)
    factors = {part.rank: part.ratio or 1.0 for part in blame.parts if part.rank is not None}
    trouble = Trouble(Cause.COMPUTE, healthy, found.actual, factors)
    job = _job(grid, cost)
    able = weigh(strategies(), trouble, job, _standing(trouble, 0)).estimates
    chosen: dict[str, int] = {}
    for steps in range(1, found.steps + 1):
        name = weigh(strategies(), trouble, job, _standing(trouble, steps)).chosen
        chosen.setdefault(name, steps)
    return [
        Plan(name, one.cost, one.iteration, chosen.get(name), one.counts)
        for name, one in able.items()
        if one.iteration < found.actual
    ]


def _standing(trouble: Trouble, steps: int) -> Standing:
    return Standing(trouble.healthy, trouble.now, steps * (trouble.now - trouble.healthy))


def _job(grid: Grid, cost: Floats) -> Job:
    own = np.median(own_times(grid, cost), axis=2)
    micro_batches = max(1, sum(one.type == FORWARD and one.stage == 0 for one in grid.operations))
    ranks = grid.ranks
    by_rank = {int(rank): float(seconds) for rank, seconds in zip(ranks.flat, own.flat, strict=True)}
    return Job(
        ranks=tuple(by_rank),
        nodes={},
        own=by_rank,
        micro_batch={rank: seconds / micro_batches for rank, seconds in by_rank.items()},
        microbatches=MicroBatchOffer(micro_batches * len(ranks), tuple(tuple(row) for row in ranks.tolist())),
    )
