"""Who a stalled job waits for: a wait-for graph across process groups.

A rank that waits is a victim. Who is waited for and waits for nobody is the root, and the culprit where it
is outside any operation or shows no life. Following ranks across groups keeps a rank from being blamed that
is late in one group only because it is itself stuck in another (C4, HPCA'25, and its successors look at
each group alone). Read `desync` first: a rank that skipped a collective looks like one that never entered
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from evenpace.detect.graph import circle

RECEIVES_FROM_ANYBODY = -1


@dataclass(frozen=True, slots=True)
class Pending:
    """One operation that a rank entered and that has not completed.

    `peer` is the other side's global rank for point-to-point operations (`RECEIVES_FROM_ANYBODY` where any
    may send) and None for collectives. `awaited`: the host is known to be blocked on just this one. `since`
    is when it was entered (seconds).
    """

    group: int
    kind: str
    sequence: int
    since: float
    bytes: int = 0
    peer: int | None = None
    sends: bool = False
    awaited: bool = False


@dataclass(frozen=True, slots=True)
class RankState:
    """Say how far a rank came; counts are operations ever entered (last sequence + 1).

    `entered` is by group, for collectives; `sent` and `received` by (group, peer's global rank). `blocked`
    tells whether the host is blocked in an operation (None: not known, then what is pending counts as
    blocking). `alive` is False where the process is stopped or its heartbeat is old. `active` is when it
    last entered or completed anything (seconds).
    """

    entered: Mapping[int, int] = field(default_factory=dict)
    sent: Mapping[tuple[int, int], int] = field(default_factory=dict)
    received: Mapping[tuple[int, int], int] = field(default_factory=dict)
    pending: tuple[Pending, ...] = ()
    blocked: bool | None = None
    alive: bool = True
    active: float = 0.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Freeze a job: members of each group (global ranks) and the state of each rank that ever appeared."""

    groups: Mapping[int, tuple[int, ...]]
    ranks: Mapping[int, RankState]


class HangKind(StrEnum):
    """What kind of stall it is."""

    NONE = "none"
    COMMUNICATION = "communication-hang"  # all entered, nothing completes
    NON_COMMUNICATION = "non-communication-hang"  # somebody does not enter
    DEADLOCK = "deadlock"  # ranks wait for each other in a circle: the program's order of operations


@dataclass(frozen=True, slots=True)
class Wait:
    """An edge of the graph: `rank` waits for `on` in an operation of `group`."""

    rank: int
    on: int
    group: int
    kind: str
    sequence: int


@dataclass(frozen=True, slots=True)
class HangVerdict:
    """Say why a job stalls; `culprits` is empty where the evidence names nobody."""

    kind: HangKind
    culprits: tuple[int, ...] = ()
    victims: tuple[int, ...] = ()
    waits: tuple[Wait, ...] = ()
    cycle: tuple[int, ...] = ()
    evidence: Mapping[str, str | float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


def patience(intervals: Sequence[float], *, minimum: float = 5.0, factor: float = 5.0) -> float:
    """Return how long (seconds) a group may show no progress, given intervals between its operations."""
    usual = float(np.percentile(np.asarray(intervals, dtype=float), 99)) if len(intervals) else 0.0
    return max(minimum, factor * usual)


def stalled(pending_since: Iterable[float], last_completion: float, now: float, limit: float) -> bool:
    """Tell whether a group is stalled: an operation is older than `limit` and none completed for as long.

    `pending_since` are entry times of the group's uncompleted operations on all ranks, `last_completion`
    the last completion on any rank (-inf where there was none); all in seconds of one clock.
    """
    oldest = min(pending_since, default=np.inf)
    return bool(now - oldest > limit and now - last_completion > limit)


def judge(snapshot: Snapshot, quiet_since: float, nodes: Mapping[int, str] | None = None) -> HangVerdict:
    """Name who a stalled job waits for.

    `quiet_since` (seconds): a rank active after it makes progress and is not blamed. `nodes` maps a rank to
    its node, so that a whole node which hangs can be named.
    """
    waits = tuple(_waits(snapshot))
    waiting = {wait.rank for wait in waits}
    waited_on = {wait.on for wait in waits}
    if not any(state.pending for state in snapshot.ranks.values()):
        return HangVerdict(HangKind.NONE)
    cycle = circle((wait.rank, wait.on) for wait in waits)
    if cycle:
        way = " -> ".join(map(str, (*cycle, cycle[0])))
        return HangVerdict(HangKind.DEADLOCK, (), tuple(sorted(waiting)), waits, cycle, {"cycle": way})
    roots = waited_on - waiting
    moving = sorted(rank for rank in roots if _moves(snapshot, rank, quiet_since))
    if moving:
        still = {"ranks that still make progress": ", ".join(map(str, moving))}
        return HangVerdict(HangKind.NONE, (), tuple(sorted(waiting)), waits, (), still)
    culprits = tuple(sorted(rank for rank in roots if _is_idle(snapshot, rank)))
    if not culprits:
        return _communication(snapshot, waits)
    return _name(snapshot, culprits, waits, nodes or {})


def _waits(snapshot: Snapshot) -> Iterable[Wait]:
    for rank, state in snapshot.ranks.items():
        for operation in _blocking(state):
            for on in _waited_for(snapshot, rank, operation):
                yield Wait(rank, on, operation.group, operation.kind, operation.sequence)


def _blocking(state: RankState) -> tuple[Pending, ...]:
    """Return what holds a rank: nothing for a stopped or running one, the awaited one where that is known."""
    if state.blocked is False or not state.alive:
        return ()
    return tuple(one for one in state.pending if one.awaited) or state.pending


def _waited_for(snapshot: Snapshot, rank: int, operation: Pending) -> list[int]:
    if operation.peer == RECEIVES_FROM_ANYBODY:
        return []
    others = snapshot.groups.get(operation.group, ()) if operation.peer is None else (operation.peer,)
    return [on for on in others if on != rank and _keeps_waiting(snapshot.ranks.get(on), rank, operation)]


def _keeps_waiting(state: RankState | None, waiting: int, operation: Pending) -> bool:
    """Tell whether the other side did not enter the operation, or entered it and then stopped in it."""
    if state is None:
        return True
    if operation.peer is None:
        count = state.entered.get(operation.group, 0)
    else:
        other_side = state.received if operation.sends else state.sent
        count = other_side.get((operation.group, waiting), 0)
    return count <= operation.sequence or (not state.alive and _holds(state, waiting, operation))


def _holds(state: RankState, waiting: int, operation: Pending) -> bool:
    """Tell whether a rank has the same operation pending, seen from its own side."""
    peer = None if operation.peer is None else waiting
    return any(
        (one.group, one.sequence, one.peer) == (operation.group, operation.sequence, peer)
        and (peer is None or one.sends != operation.sends)
        for one in state.pending
    )


def _moves(snapshot: Snapshot, rank: int, quiet_since: float) -> bool:
    state = snapshot.ranks.get(rank)
    return state is not None and state.alive and state.active > quiet_since


def _is_idle(snapshot: Snapshot, rank: int) -> bool:
    """Tell whether a rank is outside any operation, stopped, or never appeared."""
    state = snapshot.ranks.get(rank)
    return state is None or not _blocking(state)


def _communication(snapshot: Snapshot, waits: tuple[Wait, ...]) -> HangVerdict:
    """Nobody who is waited for is outside: name the one rank without a sign of life, else nobody."""
    silent = tuple(rank for rank, state in snapshot.ranks.items() if not state.alive)
    stuck = {rank for rank, state in snapshot.ranks.items() if _blocking(state)}
    victims = tuple(sorted(stuck | {wait.rank for wait in waits}))
    evidence: dict[str, str | float] = {"ranks without a sign of life": len(silent)}
    if len(silent) == 1:
        return HangVerdict(HangKind.NON_COMMUNICATION, silent, victims, waits, (), evidence)
    kinds = sorted({one.kind for rank in stuck for one in _blocking(snapshot.ranks[rank])})
    evidence["operations that do not complete"] = ", ".join(kinds)
    missing = ("a probe of the links between the ranks of the group",)
    return HangVerdict(HangKind.COMMUNICATION, (), victims, waits, (), evidence, missing)


def _name(
    snapshot: Snapshot, roots: tuple[int, ...], waits: tuple[Wait, ...], nodes: Mapping[int, str]
) -> HangVerdict:
    """Blame the roots, unless they are so many that the fault is not theirs."""
    everybody = {rank for members in snapshot.groups.values() for rank in members} | set(snapshot.ranks)
    victims = tuple(sorted({wait.rank for wait in waits}))
    absent = [rank for rank in roots if rank not in snapshot.ranks]
    silent = [rank for rank in roots if rank in snapshot.ranks and not snapshot.ranks[rank].alive]
    evidence: dict[str, str | float] = {
        "ranks that wait": len(victims),
        "ranks that everybody waits for": ", ".join(map(str, roots)),
        "of these, never appeared": len(absent),
        "of these, no sign of life": len(silent),
    }
    if len(roots) > 1 and 2 * len(roots) >= len(everybody) and not _is_one_node(roots, everybody, nodes):
        missing = ("a few ranks that the others wait for: here half of the job is outside its operations",)
        return HangVerdict(HangKind.NON_COMMUNICATION, (), victims, waits, (), evidence, missing)
    return HangVerdict(HangKind.NON_COMMUNICATION, roots, victims, waits, (), evidence)


def _is_one_node(ranks: tuple[int, ...], everybody: Iterable[int], nodes: Mapping[int, str]) -> bool:
    """Tell whether `ranks` are of one node while the job has others."""
    names = {nodes.get(rank) for rank in ranks}
    return len(names) == 1 and None not in names and names != {nodes.get(rank) for rank in everybody}
