"""The detector of slow jobs on recorded iterations: what it would have said, and when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenpace.detect.attribution import SlowKind, SlowVerdict
from evenpace.detect.sample import Sample
from evenpace.detect.slow import SlowDetector
from evenpace.detect.slow_events import Onset, Relief, Update
from evenpace.simulate.traces.model import Floats
from evenpace.simulate.whatif.graph import Graph
from evenpace.simulate.whatif.grid import Grid
from evenpace.watch.slow import WORTH_TELLING

Edge = tuple[int, int]


@dataclass(slots=True)
class Spell:
    """One slowness: from `onset` (known at `decided`) to `relief` (an iteration; None: to the end).

    `lost` is what it cost, in seconds, against the iterations before it; 0 where there are none.
    """

    incarnation: int
    onset: int
    decided: int
    kind: SlowKind
    ranks: tuple[int, ...]
    link: Edge | None
    ratio: float
    from_start: bool
    relief: int | None = None
    lost: float = 0.0

    @property
    def told(self) -> bool:
        """Tell whether a run would have been told: a slowness of all alike must be large."""
        if self.kind is SlowKind.UNCLEAR or (self.kind is SlowKind.THROUGHPUT and not self.ranks):
            return self.ratio >= WORTH_TELLING
        return True


def watch(
    samples: Iterable[Sample],
    ranks: Sequence[int],
    roles: Sequence[str],
    nodes: Mapping[int, str],
    incarnation: int = 0,
) -> list[Spell]:
    """Feed recorded iterations to the detector; return what it saw, in order."""
    detector = SlowDetector(ranks, roles, nodes)
    spells: list[Spell] = []
    for sample in samples:
        for event in detector.feed(sample):
            _fold(spells, event, incarnation)
    return spells


def _fold(spells: list[Spell], event: object, incarnation: int) -> None:
    match event:
        case Onset():
            spells.append(
                Spell(
                    incarnation,
                    event.iteration,
                    event.decided,
                    event.verdict.kind,
                    event.verdict.culprits,
                    event.verdict.link,
                    event.ratio,
                    event.from_start,
                )
            )
        case Update() if spells:
            _judge(spells[-1], event.verdict)
        case Relief():
            over = [one for one in spells if one.relief is None and one.from_start == event.from_start]
            if over:
                over[-1].relief = event.iteration


def _judge(spell: Spell, verdict: SlowVerdict) -> None:
    spell.kind, spell.ranks, spell.link = verdict.kind, verdict.culprits, verdict.link


def samples_of(grid: Grid, graph: Graph, cost: Floats) -> list[Sample]:
    """Return the steps of a trace as iterations; workers in the order of `workers_of`.

    Own time is what a worker does by itself, transfer what its share in operations with others costs; the
    rest of a step is waiting.
    """
    together = np.zeros(len(grid.operations), dtype=np.bool_)
    for meeting in graph:
        together[list(meeting.members)] = meeting.together
    stage = np.array([one.stage for one in grid.operations])
    durations = grid.recorded
    shape = (len(grid.replicas) * len(grid.stages), len(grid.steps))
    busy, transfer = (
        np.stack([cost[kind & (stage == at)].sum(axis=0) for at in range(len(grid.stages))], axis=1)
        for kind in (~together, together)
    )
    busy = np.minimum(busy.reshape(shape), durations)
    transfer = np.minimum(transfer.reshape(shape), durations - busy)
    waiting = durations - busy - transfer
    whole = np.broadcast_to(durations, shape)
    return [
        Sample(at, whole[:, at], busy[:, at], waiting[:, at], transfer[:, at])
        for at in range(len(grid.steps))
    ]


def workers_of(grid: Grid) -> tuple[list[int], list[str]]:
    """Return the ranks of a trace's workers, and their roles: workers of one stage do the same work."""
    ranks = grid.ranks.reshape(-1).tolist()
    roles = [f"stage {stage}" for _ in grid.replicas for stage in grid.stages]
    return ranks, roles
