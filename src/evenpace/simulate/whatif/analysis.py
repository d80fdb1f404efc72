"""What slowed a traced job: the slowdown against its own ideal, and who or what explains it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from evenpace.simulate.whatif.graph import graph_of
from evenpace.simulate.whatif.grid import Grid
from evenpace.simulate.whatif.ideal import Mask, agreement, evened, of_type, own_times
from evenpace.simulate.whatif.kinds import COMPUTE, POINT_TO_POINT
from evenpace.simulate.whatif.scenarios import Bench, Progress
from evenpace.simulate.whatif.standing import Place, slow_links, slow_replicas, slow_workers

WORST = 0.03  # share of the workers that the paper's M_W takes
MOST_PARTS = 64  # workers, and replicas, whose own share is replayed one by one
SLOW = 1.03  # slowdown from which there is something to explain
EXPLAINS = 0.5  # share of the slowdown that an accusation must explain
CONTRIBUTES = 0.3  # that something which accuses nobody must, to be named
STAGE_RATIO = 1.05  # of a stage's computation to the mean of all stages
SEQUENCES = 0.9  # correlation of forward and backward from which micro-batches differ in work


class Cause(StrEnum):
    """What explains a slowdown."""

    NONE = "none"  # there is none
    WORKER = "worker"
    REPLICA = "replica"
    LINK = "link"
    STAGE = "stage"
    UNEVEN = "uneven"  # micro-batches
    TYPE = "type"  # of communication
    NOBODY = "nobody"  # stands out


@dataclass(frozen=True, slots=True)
class Part:
    """A worker, replica, stage or type: the slowdown if only it were as it was, and the share it explains.

    `share` is of the slowdown, gone if only it were ideal; None where it was not replayed by itself.
    `ratio` is own time to the peers', where it stands out.
    """

    name: str
    slowdown: float
    share: float | None = None
    ratio: float | None = None
    rank: int | None = None
    replica: int | None = None
    stage: int | None = None


@dataclass(frozen=True, slots=True)
class Blame:
    """One thing that explains `share` of the slowdown; `parts` are what is meant."""

    cause: Cause
    share: float
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The analysis of a trace. Times are seconds, the mean of a step.

    `recorded` is the trace's own, `actual` the replay of it, `ideal` the replay with all operations ideal.
    `blames` is never empty, the heaviest first; more than one only where none accuses anybody.
    """

    recorded: float
    actual: float
    ideal: float
    steps: int
    worst: float  # M_W
    last_stage: float  # M_S
    uneven: float  # share that goes if each worker's micro-batches were alike
    agreement: float
    workers: tuple[Part, ...]
    replicas: tuple[Part, ...]
    stages: tuple[Part, ...]
    types: tuple[Part, ...]
    blames: tuple[Blame, ...]

    @property
    def slowdown(self) -> float:
        """Return S, the replayed step time to the ideal one."""
        return self.actual / self.ideal if self.ideal > 0 else 1.0

    @property
    def lost(self) -> float:
        """Return the seconds lost in all steps."""
        return max(0.0, self.actual - self.ideal) * self.steps

    @property
    def fidelity(self) -> float:
        """Return how much of the recorded step time the replay reproduces."""
        return self.actual / self.recorded if self.recorded > 0 else 1.0


def analyse(grid: Grid, progress: Progress | None = None) -> WhatIf:
    """Replay what-if scenarios of a trace and say what explains its slowdown; raises Problem.

    Follows arXiv 2505.05713: S = T / T_ideal; S_t and S_w with all but the type or worker ideal, a worker's
    from its replica's and its stage's alone; M_W and M_S as the share that goes with the worst workers or
    the last stage ideal. Beyond it: who stands out among peers, one by one and together, and links.
    """
    bench = Bench(grid, graph_of(grid), progress)
    replicas = _replicas(bench)
    stages = _parts(bench, [str(one) for one in grid.stages], bench.stage)
    names = _type_names(grid)
    types = _parts(bench, list(names), lambda at: bench.rows(of_type(grid, *list(names.values())[at])))
    slow = slow_workers(grid, bench.cost)
    workers = _workers(bench, replicas, stages, slow)
    blames = _blames(bench, workers, slow, replicas, stages, types)
    return WhatIf(
        recorded=float(grid.recorded.mean()),
        actual=bench.actual,
        ideal=bench.best,
        steps=len(grid.steps),
        worst=_worst(bench, workers),
        last_stage=stages[-1].share or 0.0,
        uneven=_uneven(bench),
        agreement=agreement(grid, bench.cost),
        workers=workers,
        replicas=_sorted(replicas),
        stages=_sorted(stages),
        types=_sorted(types),
        blames=blames,
    )


def _sorted(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(sorted(parts, key=lambda part: -part.slowdown))


def _type_names(grid: Grid) -> dict[str, tuple[str, ...]]:
    """Return the types of operations; a send and its receive are one transfer."""
    names: dict[str, tuple[str, ...]] = {}
    for kind in grid.types:
        name = f"{kind.split('-')[0]}-send-recv" if kind in POINT_TO_POINT else kind
        names[name] = (*names.get(name, ()), kind)
    return names


def _parts(bench: Bench, names: Sequence[str], mask: Callable[[int], Mask]) -> list[Part]:
    masks = [mask(at) for at in range(len(names))]
    slowdowns, shares = bench.slowdowns(masks), bench.shares(masks)
    return [Part(*one) for one in zip(names, slowdowns, shares, strict=True)]


def _replicas(bench: Bench) -> list[Part]:
    """Return all replicas in order, with the share of the worst."""
    slowdowns = bench.replica_slowdowns()
    worst = sorted(range(len(slowdowns)), key=lambda at: -slowdowns[at])[:MOST_PARTS]
    shares = dict(zip(worst, bench.shares([bench.replica(at) for at in worst]), strict=True))
    return [
        Part(str(name), slowdown, shares.get(at))
        for at, (name, slowdown) in enumerate(zip(bench.grid.replicas, slowdowns, strict=True))
    ]


def _workers(
    bench: Bench, replicas: Sequence[Part], stages: Sequence[Part], slow: dict[Place, float]
) -> tuple[Part, ...]:
    """Return all workers, the worst first, with the exact share of those that matter."""
    grid = bench.grid
    places = [(replica, stage) for replica in range(len(replicas)) for stage in range(len(stages))]
    scores = {at: min(replicas[at[0]].slowdown, stages[at[1]].slowdown) for at in places}
    places.sort(key=lambda at: (-scores[at], int(grid.ranks[at])))
    shown = list(dict.fromkeys([*sorted(slow, key=lambda at: -slow[at])[:MOST_PARTS], *places[:MOST_PARTS]]))
    shares = dict(zip(shown, bench.shares([bench.worker(*at) for at in shown]), strict=True))
    return tuple(
        Part(
            name=str(grid.ranks[at]),
            slowdown=scores[at],
            share=shares.get(at),
            ratio=slow.get(at),
            rank=int(grid.ranks[at]),
            replica=int(grid.replicas[at[0]]),
            stage=int(grid.stages[at[1]]),
        )
        for at in places
    )


def _worst(bench: Bench, workers: Sequence[Part]) -> float:
    """Return M_W: the share that goes with the worst few workers ideal."""
    worst = workers[: int(np.ceil(WORST * len(workers)))]
    chosen = {one.rank for one in worst if one.rank is not None}
    return bench.shares([_together(bench, chosen)])[0]


def _together(bench: Bench, ranks: set[int]) -> Mask:
    mask = bench.mask(False)
    for replica, stage in zip(*np.nonzero(np.isin(bench.grid.ranks, list(ranks))), strict=True):
        mask |= bench.worker(int(replica), int(stage))
    return mask


def _uneven(bench: Bench) -> float:
    return bench.share(bench.times([bench.mask(False)], evened(bench.grid, bench.cost))[0])


def _blames(  # noqa: PLR0913, PLR0917 - all that was found
    bench: Bench,
    workers: Sequence[Part],
    slow: dict[Place, float],
    replicas: Sequence[Part],
    stages: Sequence[Part],
    types: Sequence[Part],
) -> tuple[Blame, ...]:
    if bench.actual <= SLOW * bench.best:  # also where both are 0
        return (Blame(Cause.NONE, 0.0),)
    accused = _slow_replicas(bench, slow, replicas) or _slow_workers(bench, slow, workers) or _links(bench)
    if accused:
        return (accused,)
    found = _stages(bench, stages)
    uneven = _uneven(bench)
    if uneven >= CONTRIBUTES:
        found.append(Blame(Cause.UNEVEN, uneven))
    if not found:
        found = [
            Blame(Cause.TYPE, one.share, (one,))
            for one in types
            if one.share is not None and one.share >= EXPLAINS and one.name not in COMPUTE
        ]
    return tuple(sorted(found, key=lambda one: -one.share)) or (Blame(Cause.NOBODY, 0.0),)


def _slow_workers(bench: Bench, slow: dict[Place, float], workers: Sequence[Part]) -> Blame | None:
    if not slow:
        return None
    ranks = {int(bench.grid.ranks[at]) for at in slow}
    share = bench.shares([_together(bench, ranks)])[0]
    if share < EXPLAINS:
        return None
    named = sorted((one for one in workers if one.rank in ranks), key=lambda one: one.rank or 0)
    return Blame(Cause.WORKER, share, tuple(named))


def _slow_replicas(bench: Bench, slow: dict[Place, float], replicas: Sequence[Part]) -> Blame | None:
    """Blame replicas as a whole, where all their stages are slow and nobody else is."""
    whole = slow_replicas(slow, len(bench.grid.stages))
    if not whole or any(replica not in whole for replica, _ in slow):
        return None
    mask = np.logical_or.reduce([bench.replica(one) for one in whole])
    share = bench.shares([mask])[0]
    return (
        Blame(Cause.REPLICA, share, tuple(replicas[at] for at in sorted(whole)))
        if share >= EXPLAINS
        else None
    )


def _links(bench: Bench) -> Blame | None:
    grid = bench.grid
    found = slow_links(grid, bench.graph, bench.cost)
    if not found:
        return None
    mask = bench.mask(False)
    rows = of_type(grid, *POINT_TO_POINT)
    for meeting in bench.graph:
        if len(meeting.members) != 2 or not rows[meeting.members[0]]:
            continue
        source, target = (grid.operations[at].stage for at in meeting.members)
        for replica in range(len(grid.replicas)):
            if ((replica, source), (replica, target)) in found:
                mask[list(meeting.members), replica] = True
    share = bench.shares([mask])[0]
    if share < EXPLAINS:
        return None
    parts = tuple(
        Part(f"{grid.ranks[source]} -> {grid.ranks[target]}", 1.0, None, ratio)
        for (source, target), ratio in found.items()
    )
    return Blame(Cause.LINK, share, parts)


def _stages(bench: Bench, stages: Sequence[Part]) -> list[Blame]:
    own = own_times(bench.grid, bench.cost).mean(axis=(0, 2))
    mean = float(own.mean())
    return [
        Blame(Cause.STAGE, part.share, (part,))
        for part, seconds in zip(stages, own, strict=True)
        if len(stages) > 1
        and part.share is not None
        and part.share >= CONTRIBUTES
        and seconds > STAGE_RATIO * mean
    ]
