"""An iteration of pipelines with data parallelism, event by event: what a cost model is checked against.

Each rank runs its stage's 1F1B order and sends without waiting; a link carries one message at a time in each
direction. Then the replicas of a stage reduce their gradients in a ring, chunk by chunk, and all meet at the
end, as they do where gradients are clipped by their global norm.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Edge = tuple[int, int]  # ranks: source, target
Place = tuple[int, int]  # stage, replica
Task = tuple[str, int]  # FORWARD or BACKWARD, micro-batch

FORWARD, BACKWARD = "forward", "backward"


@dataclass(frozen=True, slots=True)
class Layout:
    """A job: `ranks[stage][replica]` says who sits where; seconds and bytes, lists by stage.

    `factors` says how many times as long a rank computes, `links` how many times as long a directed link
    takes; `forward` and `backward` are of one micro-batch, `activation` the bytes that one sends on.
    `jitter(rank)` is a factor for each piece of work.
    """

    ranks: Sequence[Sequence[int]]
    micro_batches: int
    forward: Sequence[float]
    backward: Sequence[float]
    activation: float
    gradients: Sequence[float]
    bandwidth: float
    factors: Mapping[int, float] = field(default_factory=dict)
    links: Mapping[Edge, float] = field(default_factory=dict)
    jitter: Callable[[int], float] = lambda _: 1.0

    @property
    def stages(self) -> int:
        """Return how many stages a pipeline has."""
        return len(self.ranks)

    def transfer(self, source: int, target: int, size: float) -> float:
        """Return the seconds of so many bytes from one rank to another."""
        return size / self.bandwidth * self.links.get((source, target), 1.0)


def iteration(layout: Layout) -> float:
    """Return the seconds of an iteration."""
    replicas = len(layout.ranks[0])
    drained = [_Pipeline(layout, replica).run() for replica in range(replicas)]
    ends = (
        _all_reduce(layout, stage, [drained[replica][stage] for replica in range(replicas)])
        for stage in range(layout.stages)
    )
    return max(ends)


def order(stage: int, stages: int, micro_batches: int) -> list[Task]:
    """Return what a stage does in 1F1B: fill, one forward and one backward in turn, drain."""
    ahead = min(stages - 1 - stage, micro_batches)
    tasks: list[Task] = [(FORWARD, number) for number in range(ahead)]
    for number in range(ahead, micro_batches):
        tasks += [(FORWARD, number), (BACKWARD, number - ahead)]
    return tasks + [(BACKWARD, number) for number in range(micro_batches - ahead, micro_batches)]


class _Pipeline:
    """One replica; `run` returns when each stage has done its last backward."""

    def __init__(self, layout: Layout, replica: int) -> None:
        self._layout = layout
        self._ranks = [row[replica] for row in layout.ranks]
        self._arrived = {(0, (FORWARD, number)): 0.0 for number in range(layout.micro_batches)}
        self._link_free: dict[Edge, float] = {}
        self._clock = [0.0] * layout.stages

    def run(self) -> list[float]:
        """Let every stage go as far as its inputs are there, until all is done."""
        stages = self._layout.stages
        pending = [deque(order(stage, stages, self._layout.micro_batches)) for stage in range(stages)]
        while any(pending):
            for stage, tasks in enumerate(pending):
                while tasks and (stage, tasks[0]) in self._arrived:
                    self._do(stage, tasks.popleft())
        return self._clock

    def _do(self, stage: int, task: Task) -> None:
        """Do a task from when its input is there and the stage is free, and send what comes of it."""
        kind, number = task
        rank = self._ranks[stage]
        own = self._layout.forward[stage] if kind == FORWARD else self._layout.backward[stage]
        own *= self._layout.factors.get(rank, 1.0) * self._layout.jitter(rank)
        self._clock[stage] = max(self._clock[stage], self._arrived.pop((stage, task))) + own
        if kind == FORWARD and stage == self._layout.stages - 1:
            self._arrived[stage, (BACKWARD, number)] = self._clock[stage]
        elif kind == FORWARD:
            self._send(stage, stage + 1, task)
        elif stage > 0:
            self._send(stage, stage - 1, task)

    def _send(self, source: int, target: int, task: Task) -> None:
        edge = (self._ranks[source], self._ranks[target])
        begun = max(self._clock[source], self._link_free.get(edge, 0.0))
        arrived = begun + self._layout.transfer(*edge, self._layout.activation)
        self._link_free[edge] = self._arrived[target, task] = arrived


def _all_reduce(layout: Layout, stage: int, ready: Sequence[float]) -> float:
    """Return when a ring has reduced a stage's gradients, where its members are ready at these times."""
    ring, size = layout.ranks[stage], len(ready)
    chunk = layout.gradients[stage] / size
    has, sent = list(ready), list(ready)
    for _ in range(2 * (size - 1)):
        came = list(has)
        for i in range(size):
            after = (i + 1) % size
            sent[i] = max(has[i], sent[i]) + layout.transfer(ring[i], ring[after], chunk)
            came[after] = max(has[after], sent[i])
        has = came
    return max(has)
