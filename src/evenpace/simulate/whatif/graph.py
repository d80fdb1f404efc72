"""The graph of one replica's step: what must end before an operation starts, and who meets in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from evenpace.errors import Problem
from evenpace.simulate.whatif.grid import Grid, Operation
from evenpace.simulate.whatif.kinds import (
    ACROSS_REPLICAS,
    ACROSS_STAGES,
    BACKWARD,
    COMPUTE,
    FORWARD,
    GATHER,
    POINT_TO_POINT,
    SCATTER,
    SEPARATE,
    TAIL,
)
from evenpace.simulate.whatif.pipeline import match


@dataclass(frozen=True, slots=True)
class Meeting:
    """Operations that go on together once all of them have started; a single local one meets nobody.

    `before` holds, by member, what must end before it starts.
    """

    members: tuple[int, ...]
    before: tuple[tuple[int, ...], ...]
    together: bool  # its members' cost is counted from the last start
    replicas: bool  # and from that of all replicas


Graph = tuple[Meeting, ...]  # each after all that it depends on


def graph_of(grid: Grid) -> Graph:
    """Build the graph of a replica's step; raises Problem where the trace contradicts itself."""
    operations, stages = grid.operations, len(grid.stages)
    transfers = match(operations, stages)
    before: dict[int, set[int]] = {at: set(transfers.before.get(at, ())) for at in range(len(operations))}
    for stage in range(stages):
        for first, then in _within(operations, stage):
            before[then].add(first)
    groups = [list(pair) for pair in transfers.pairs] + _across_stages(operations)
    return _sorted(operations, before, groups)


def _within(operations: Sequence[Operation], stage: int) -> Iterable[tuple[int, int]]:
    """Yield what follows what at a stage."""
    own = [at for at, one in enumerate(operations) if one.stage == stage]
    by_type: dict[str, list[int]] = {}
    for at in own:
        by_type.setdefault(operations[at].type, []).append(at)
    computations = [at for at in own if operations[at].type in COMPUTE]
    yield from pairwise(computations)
    for kind in POINT_TO_POINT:
        yield from pairwise(by_type.get(kind, []))
    yield from pairwise([*by_type.get(GATHER, []), *by_type.get(SCATTER, [])])
    yield from _gathers(operations, computations, by_type.get(GATHER, []))
    overlapped = SEPARATE in by_type
    if overlapped:
        yield from _scatters(operations, computations, by_type.get(SCATTER, []))
    chain = [at for kind in TAIL if not (overlapped and kind == SCATTER) for at in by_type.get(kind, [])]
    yield from pairwise([*computations[-1:], *chain])
    if overlapped and by_type.get(SCATTER) and chain:
        yield by_type[SCATTER][-1], chain[0]


def _gathers(
    operations: Sequence[Operation], computations: list[int], gathers: list[int]
) -> Iterable[tuple[int, int]]:
    """Yield: the first forward of a chunk needs the chunk's last gathered parameters."""
    last = {operations[at].chunk: at for at in gathers}
    for chunk, gather in last.items():
        users = [at for at in computations if operations[at].type == FORWARD]
        own = [at for at in users if chunk < 0 or operations[at].chunk == chunk]
        if own:
            yield gather, own[0]


def _scatters(
    operations: Sequence[Operation], computations: list[int], scatters: list[int]
) -> Iterable[tuple[int, int]]:
    """Yield: gradients of a chunk are reduced after its last backward."""
    seen: set[int] = set()
    for at in scatters:
        chunk = operations[at].chunk
        sources = [one for one in computations if operations[one].type == BACKWARD]
        own = [one for one in sources if chunk < 0 or operations[one].chunk == chunk]
        if own and chunk not in seen:
            yield own[-1], at
        seen.add(chunk)


def _across_stages(operations: Sequence[Operation]) -> list[list[int]]:
    groups: dict[tuple[str, int], list[int]] = {}
    for at, one in enumerate(operations):
        if one.type in ACROSS_STAGES:
            groups.setdefault((one.type, one.seq), []).append(at)
    return list(groups.values())


def _sorted(operations: Sequence[Operation], before: dict[int, set[int]], groups: list[list[int]]) -> Graph:
    group_of = {at: tuple(group) for group in groups for at in group}
    nodes = {at: group_of.get(at, (at,)) for at in range(len(operations))}
    sorter: TopologicalSorter[tuple[int, ...]] = TopologicalSorter()
    for node in dict.fromkeys(nodes.values()):
        sorter.add(node, *(nodes[source] for at in node for source in before[at]))
    try:
        order = list(sorter.static_order())
    except CycleError as error:
        names = ", ".join(
            f"{operations[node[0]].type} {operations[node[0]].seq}" for node in error.args[1][:4]
        )
        raise Problem(
            f"operations wait for each other in a circle ({names}); record the trace anew"
        ) from error
    return tuple(_meeting(operations, node, before) for node in order)


def _meeting(operations: Sequence[Operation], node: tuple[int, ...], before: dict[int, set[int]]) -> Meeting:
    kind = operations[node[0]].type
    together = kind in POINT_TO_POINT or kind in ACROSS_REPLICAS or kind in ACROSS_STAGES
    sources = tuple(tuple(sorted(before[at])) for at in node)
    return Meeting(node, sources, together, kind in ACROSS_REPLICAS)
