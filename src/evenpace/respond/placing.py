"""Say in a run's own names whom a log accuses: ranks and nodes, as the tap knows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from evenpace.diagnose.engine import Diagnosis
from evenpace.diagnose.model import Case, Identity
from evenpace.findings import Subject, several
from evenpace.respond.nodelogs import recorded_rank
from evenpace.respond.policy import evicts_at_once
from evenpace.watch.events import WorkerJoined

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Crew:
    """Know who runs where in one incarnation: its workers by rank, and each node's log."""

    workers: Mapping[int, WorkerJoined]
    logs: Mapping[str, Path]

    def home(self, source: str) -> str | None:
        """Return the node whose log `source` is."""
        return next((node for node, path in self.logs.items() if str(path) == source), None)


@dataclass(frozen=True, slots=True)
class Place:
    """Say which ranks and nodes are accused; both empty where nobody is."""

    ranks: frozenset[int] = frozenset()
    nodes: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.ranks or self.nodes)

    def within(self, subject: Subject) -> bool:
        """Tell whether `subject` accuses these ranks too, or, where either knows nodes only, these nodes."""
        ranks = frozenset(several(subject.rank))
        if self.ranks and ranks:
            return self.ranks <= ranks
        return bool(self.nodes) and self.nodes <= frozenset(several(subject.node))


def place(diagnosis: Diagnosis, case: Case, crew: Crew) -> Place:
    """Return whom a diagnosis accuses. A broken machine that is not named is the one that logged it."""
    culprit = diagnosis.culprit
    if not culprit and not evicts_at_once(diagnosis.fault):
        return Place()
    ranks = _ranks(culprit, diagnosis, crew)
    if ranks:
        return Place(ranks, frozenset(crew.workers[rank].node for rank in ranks if rank in crew.workers))
    nodes = _nodes(culprit, diagnosis, case, crew)
    locals_ = several(culprit.local_rank)
    local = {one.rank for one in crew.workers.values() if one.node in nodes and one.local_rank in locals_}
    return Place(frozenset(local) if len(nodes) == 1 else frozenset(), frozenset(nodes))


def subject_at(where: Place, culprit: Identity, crew: Crew) -> Subject:
    """Return the subject that `where` is, with the GPU that the log names."""
    ranks, nodes = sorted(where.ranks), sorted(where.nodes)
    local = [crew.workers[rank].local_rank for rank in ranks if rank in crew.workers]
    gpus = list(several(culprit.gpu))
    kind = "gpu" if gpus else "rank" if ranks else "node"
    return Subject(
        kind=kind,
        node=_single(nodes),
        rank=_single(ranks),
        local_rank=_single(local) if len(local) == len(ranks) else None,
        gpu=_single(gpus),
    )


def _single(values: list[_T]) -> _T | list[_T] | None:
    return None if not values else values[0] if len(values) == 1 else values


def _ranks(culprit: Identity, diagnosis: Diagnosis, crew: Crew) -> frozenset[int]:
    if culprit.rank is not None:
        return frozenset(several(culprit.rank))
    pids = several(culprit.pid)
    by_pid = frozenset(one.rank for one in crew.workers.values() if one.pid in pids)
    if by_pid or culprit.host is not None:
        return by_pid
    recorded = {recorded_rank(line.source) for line in diagnosis.lines[:1]} - {None}
    return frozenset(rank for rank in recorded if rank is not None)


def _nodes(culprit: Identity, diagnosis: Diagnosis, case: Case, crew: Crew) -> set[str]:
    home = crew.home(diagnosis.lines[0].source) if diagnosis.lines else None
    if culprit.host is None:
        return {home} if home else set()
    return {_node(host, home, case, crew) for host in several(culprit.host)}


def _node(host: str, home: str | None, case: Case, crew: Crew) -> str:
    """Return the node that is called `host` in the logs: nodes that are emulated share a machine's name."""
    for node in crew.logs:
        if node.partition(".")[0] == host.partition(".")[0]:
            return node
    homes = {crew.home(line.source) for line in case.lines if line.printer.host == host} - {None}
    if home in homes:
        return home or host
    return homes.pop() or host if len(homes) == 1 else host
