"""A trace as a block of numbers: operation by replica by step, complete, with what was left out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from evenpace.errors import Problem
from evenpace.simulate.traces.model import Floats, Ints, Trace
from evenpace.simulate.whatif.kinds import KNOWN
from evenpace.terms.spelling import line

MOST_PLACES = 1 << 20  # replicas times stages
USUAL = 0.5  # share of replicas and steps in which an operation must be, or it is left out

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a replica's step, the same in all replicas and steps."""

    type: str
    stage: int  # index into Grid.stages
    seq: int
    mb: int
    chunk: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What of a trace the replay does not hold; each is said."""

    unknown: dict[str, int] = field(default_factory=dict)  # type of operation → how many
    rare: int = 0  # operations that most steps lack
    steps: tuple[int, ...] = ()  # incomplete
    missing: str = ""  # an operation that they lack
    ranks: int = 0  # further ranks of a replica's stage: tensor-parallel peers of the one that is shown


@dataclass(frozen=True, slots=True)
class Grid:
    """Operations of all replicas and steps, sorted by their usual start.

    `start` (from the first operation of the step) and `duration` are seconds, shape [operations, replicas,
    steps]; `ranks` is the global rank by [replica, stage]; `recorded` how long each step took, in seconds.
    """

    operations: tuple[Operation, ...]
    replicas: Ints
    stages: Ints
    steps: Ints
    ranks: Ints
    start: Floats
    duration: Floats
    recorded: Floats
    left_out: LeftOut = LeftOut()

    def at(self, steps: Mask) -> Grid:
        """Return the block of some steps."""
        picked = {
            name: getattr(self, name)[..., steps] for name in ("steps", "start", "duration", "recorded")
        }
        return replace(self, **picked)

    @property
    def types(self) -> list[str]:
        """Return the types of operations, sorted."""
        return sorted({one.type for one in self.operations})


def grid_of(trace: Trace) -> Grid:
    """Arrange a trace as a block; raises Problem where no step is complete."""
    unknown, trace = _known_only(trace)
    further, trace = _one_rank_a_place(trace)
    replicas, replica = np.unique(trace.replica, return_inverse=True)
    stages, stage = np.unique(trace.stage, return_inverse=True)
    steps, step = np.unique(trace.step, return_inverse=True)
    if len(replicas) * len(stages) > MOST_PLACES:
        raise Problem(
            f"the trace has {len(replicas):,} replicas and {len(stages):,} stages; give one job's alone"
        )
    operation, first = _operations(trace, stage)
    counts = np.bincount(operation)
    usual = counts >= USUAL * len(replicas) * len(steps)
    if not usual.any():
        raise Problem("no operation of the trace is in most of its steps; give steps of one job alone")
    place = np.cumsum(usual) - 1
    kept = usual[operation]
    cell = (place[operation[kept]] * len(replicas) + replica[kept]) * len(steps) + step[kept]
    shape = (int(usual.sum()), len(replicas), len(steps))
    filled = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
    operations = [_operation(trace, at, int(stage[at])) for at in first[usual]]
    if (filled > 1).any():
        raise Problem(f"{_named(operations, filled > 1, replicas, stages, steps)} is in the trace twice")
    whole = filled.all(axis=(0, 1))
    missing = "" if whole.all() else _named(operations, filled == 0, replicas, stages, steps)
    if not whole.any():
        raise Problem(f"no step of the trace is complete: {missing} is missing; record whole steps")
    start, duration = np.zeros(shape), np.zeros(shape)
    start.flat[cell], duration.flat[cell] = trace.start[kept], trace.duration[kept]
    ranks = np.zeros((len(replicas), len(stages)), dtype=np.int64)
    ranks[replica, stage] = trace.rank
    start, duration = start[:, :, whole], duration[:, :, whole]
    start -= start.min(axis=(0, 1))
    order = np.lexsort((np.arange(len(operations)), np.median(start, axis=(1, 2))))
    return Grid(
        tuple(operations[at] for at in order),
        replicas,
        stages,
        steps[whole],
        ranks,
        start[order],
        duration[order],
        (start + duration).max(axis=(0, 1)),
        LeftOut(unknown, int(counts[~usual].sum()), tuple(steps[~whole].tolist()), missing, further),
    )


def _known_only(trace: Trace) -> tuple[dict[str, int], Trace]:
    counts = np.bincount(trace.type, minlength=len(trace.types))
    unknown = {
        name: int(count)
        for name, count in zip(trace.types, counts, strict=True)
        if name not in KNOWN and count
    }
    if not unknown:
        return {}, trace
    known = np.array([name in KNOWN for name in trace.types])
    if not known[trace.type].any():
        names = line(", ".join(unknown)[:200])
        raise Problem(
            f"no type of operation in the trace is known ({names}); give a trace with compute operations"
        )
    return unknown, trace.pick(known[trace.type])


def _one_rank_a_place(trace: Trace) -> tuple[int, Trace]:
    """Keep the lowest rank of each replica's stage: tensor-parallel ranks go in step with each other."""
    stages, stage = np.unique(trace.stage, return_inverse=True)
    _, place = np.unique(trace.replica, return_inverse=True)
    _, place = np.unique(place * len(stages) + stage, return_inverse=True)
    lowest = np.full(int(place.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(lowest, place, trace.rank)
    kept = trace.rank == lowest[place]
    if kept.all():
        return 0, trace
    return len(np.unique(trace.rank[~kept])), trace.pick(kept)


def _operations(trace: Trace, stage: Ints) -> tuple[Ints, Ints]:
    """Return each row's operation, and a row of each operation."""
    seqs, seq = np.unique(trace.seq, return_inverse=True)
    keys = (trace.type * (int(stage.max()) + 1) + stage) * len(seqs) + seq
    _, first, operation = np.unique(keys, return_index=True, return_inverse=True)
    return operation, first


def _operation(trace: Trace, row: int, stage: int) -> Operation:
    name = trace.types[int(trace.type[row])]
    return Operation(name, stage, int(trace.seq[row]), int(trace.mb[row]), int(trace.chunk[row]))


def _named(
    operations: list[Operation], where: NDArray[np.bool_], replicas: Ints, stages: Ints, steps: Ints
) -> str:
    """Name the first operation of a mask over the block."""
    at, replica, step = (int(axis[0]) for axis in np.nonzero(where))
    one = operations[at]
    return (
        f"{one.type} {one.seq} of replica {replicas[replica]}, stage {stages[one.stage]}, step {steps[step]}"
    )
