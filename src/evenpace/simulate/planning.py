"""The planner on a trace: what could have been done about its slow workers, and when it would have paid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from evenpace.detect.attribution import SlowKind
from evenpace.respond.planner import Level, Standing, choose
from evenpace.respond.strategies import Cause, Job, MicroBatchOffer, Trouble
from evenpace.respond.strategies.catalogue import strategies
from evenpace.simulate.detecting import Spell
from evenpace.simulate.traces.model import Floats
from evenpace.simulate.whatif import analysis
from evenpace.simulate.whatif.grid import Grid
from evenpace.simulate.whatif.ideal import own_times
from evenpace.simulate.whatif.kinds import FORWARD

MOST_STEPS = 2_000  # that are weighed one by one


@dataclass(frozen=True, slots=True)
class Plan:
    """A strategy that would help: its price and the step time under it, in seconds.

    `after` is how many slow steps it takes until the planner chooses it, None where there are too few;
    `counts` the micro-batches by replica. Of a run, `incarnation` and `onset` say for which slowness it is.
    """

    strategy: str
    cost: float
    step: float
    after: int | None
    counts: tuple[int, ...] = ()
    incarnation: int | None = None
    onset: int | None = None


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
    return _weighed(Trouble(Cause.COMPUTE, healthy, found.actual, factors), _job(grid, cost), found.steps)


def plans_of(
    spell: Spell, ranks: tuple[int, ...], times: tuple[float, float, int], restart: float
) -> list[Plan]:
    """Weigh a restart against one slowness of a run, iteration by iteration.

    `times` are the iteration when healthy and when slow (seconds), and how many were slow; `restart` is its
    price by the run's own record, in seconds.
    """
    healthy, now, slow = times
    link = spell.kind is SlowKind.COMMUNICATION
    trouble = Trouble(
        Cause.LINK if link else Cause.COMPUTE, healthy, now, dict.fromkeys(spell.ranks, spell.ratio)
    )
    found = _weighed(trouble, Job(ranks, {}, restart=restart), slow)
    return [replace(one, incarnation=spell.incarnation, onset=spell.onset) for one in found]


def _weighed(trouble: Trouble, job: Job, steps: int) -> list[Plan]:
    """Return what helps, with how many slow steps it takes until the planner chooses it."""
    able = {
        one.name: estimate
        for one in strategies()
        if (estimate := one.estimate(trouble, job)) is not None and estimate.iteration < trouble.now
    }
    levels = [Level(name, one.cost, one.iteration) for name, one in able.items()]
    chosen: dict[str, int] = {}
    for step in range(1, min(steps, MOST_STEPS) + 1):
        if level := choose(_standing(trouble, step), levels):
            chosen.setdefault(level.name, step)
    return [Plan(name, one.cost, one.iteration, chosen.get(name), one.counts) for name, one in able.items()]


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
