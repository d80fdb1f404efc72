from __future__ import annotations

from pathlib import Path

import pytest

from evenpace.diagnose.engine import Diagnosis
from evenpace.diagnose.model import Case, Identity, Line
from evenpace.findings import Subject
from evenpace.respond.placing import Crew, Place, place, subject_at
from evenpace.watch.events import WorkerJoined

LOGS = {name: Path(f"/run/logs/0/{name}.log") for name in ("node0", "node1")}
WORKERS = {
    rank: WorkerJoined(
        time="T", incarnation=0, rank=rank, local_rank=rank % 2, world_size=4, node=f"node{rank // 2}",
        pid=100 + rank, tap="native",
    )
    for rank in range(4)
}  # fmt: skip
CREW = Crew(WORKERS, LOGS)


def accusing(culprit: Identity, node: str = "node1", fault: str = "oom-gpu") -> Diagnosis:
    return Diagnosis(None, fault, "critical", 0.9, culprit, lines=(Line(str(LOGS[node]), 1, "x"),))


@pytest.mark.parametrize(
    ("culprit", "ranks", "nodes"),
    [
        (Identity(rank=2), {2}, {"node1"}),
        (Identity(rank=(0, 3)), {0, 3}, {"node0", "node1"}),
        (Identity(rank=2, host="a-real-host"), {2}, {"node1"}),
        (Identity(pid=103), {3}, {"node1"}),
        (Identity(host="node0", local_rank=1), {1}, {"node0"}),
        (Identity(local_rank=0), {2}, {"node1"}),
        (Identity(gpu="0000:9b:00"), set(), {"node1"}),
        (Identity(host="node0.cluster.example"), set(), {"node0"}),
        (Identity(host="elsewhere"), set(), {"elsewhere"}),
        (Identity(), set(), set()),
    ],
)
def test_a_culprit_is_named_as_the_run_names_it(culprit: Identity, ranks: set[int], nodes: set[str]) -> None:
    assert place(accusing(culprit), Case((), ()), CREW) == Place(frozenset(ranks), frozenset(nodes))


def test_a_broken_machine_without_a_name_is_the_one_that_logged_it() -> None:
    where = place(accusing(Identity(), fault="gpu-hardware"), Case((), ()), CREW)
    assert where == Place(nodes=frozenset({"node1"}))


def test_emulated_nodes_share_the_name_of_their_machine() -> None:
    lines = tuple(Line(str(path), 1, "x", Identity(host="machine")) for path in LOGS.values())
    assert place(accusing(Identity(host="machine")), Case((), lines), CREW).nodes == {"node1"}
    assert place(accusing(Identity(host="machine")), Case((), lines[:1]), CREW).nodes == {"node0"}


def test_within_compares_ranks_before_nodes() -> None:
    two = Place(frozenset({2}), frozenset({"node1"}))
    assert two.within(Subject("rank", node="node1", rank=2))
    assert two.within(Subject("node", node="node1", rank=[2, 3]))
    assert not two.within(Subject("rank", node="node1", rank=3))
    assert two.within(Subject("node", node="node1"))
    assert not Place(nodes=frozenset({"node0", "node1"})).within(Subject("node", node="node1"))


def test_a_subject_has_what_is_known() -> None:
    where = Place(frozenset({2}), frozenset({"node1"}))
    assert subject_at(where, Identity(), CREW) == Subject("rank", node="node1", rank=2, local_rank=0)
    assert subject_at(Place(nodes=frozenset({"node0"})), Identity(gpu="3"), CREW) == Subject(
        "gpu", node="node0", gpu="3"
    )
