"""The watcher on simulated jobs: who hangs, who is slow, and silence where all is well."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.watch.simulated import SimulatedJob

from evenpace.collect.job.processes import ProcessFacts
from evenpace.findings import Finding
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.watch import worker as worker_module
from evenpace.watch.events import (
    Event,
    FindingClosed,
    FindingRaised,
    Iteration,
    PeriodFound,
    WatchDegraded,
    WorkerJoined,
)
from evenpace.watch.watcher import Watcher


def findings(events: list[Event]) -> list[Finding]:
    return [event.finding for event in events if isinstance(event, FindingRaised)]


@pytest.fixture
def job(tmp_path: Path) -> SimulatedJob:
    return SimulatedJob(tmp_path)


def noisy(seed: int, slow: int | None = None, factor: float = 1.5, since: int = 0):
    chance = random.Random(seed)

    def busy(rank: int, iteration: int) -> float:
        own = 80.0 * chance.gauss(1.0, 0.03)
        return own * factor if rank == slow and iteration >= since else own

    return busy


def test_workers_iteration_and_pace_are_found(job: SimulatedJob) -> None:
    events = job.iterate(40)
    assert [event.rank for event in events if isinstance(event, WorkerJoined)] == [0, 1, 2, 3]
    periods = [event for event in events if isinstance(event, PeriodFound)]
    assert {(event.operations, event.kinds["all_reduce"]) for event in periods} == {(3, 3)}
    iterations = [event for event in events if isinstance(event, Iteration)]
    assert [event.iteration for event in iterations] == list(range(len(iterations)))
    assert len(iterations) >= 38
    assert iterations[-1].durations == pytest.approx([0.088] * 4)
    assert iterations[-1].waiting == pytest.approx([0.0] * 4, abs=0.003)
    assert not findings(events)


def test_healthy_noise_raises_nothing(job: SimulatedJob) -> None:
    assert not findings(job.iterate(200, noisy(1)))


def test_a_slow_worker_is_named_within_five_iterations_and_relieved(job: SimulatedJob) -> None:
    job.iterate(40, noisy(2))
    raised = []
    for iteration in range(10):
        raised += findings(job.iterate(1, noisy(iteration, slow=2, factor=1.5)))
        if raised:
            break
    assert iteration < 5 + 1  # the span of an iteration ends with the first operation of the next
    assert (raised[0].fault, raised[0].subject.rank, raised[0].subject.node) == (
        "non-communication-slow",
        2,
        "node2",
    )
    closed = [event for event in job.iterate(15, noisy(3)) if isinstance(event, FindingClosed)]
    assert [event.reason for event in closed] == ["relief"]


def test_all_slow_together_blames_nobody(job: SimulatedJob) -> None:
    job.iterate(40, noisy(4))
    raised = findings(job.iterate(30, lambda rank, iteration: 130.0))
    assert raised
    assert not any(finding.names_culprit for finding in raised)
    assert raised[0].fault == "slow-throughput"


def test_slow_from_the_start_is_named(job: SimulatedJob) -> None:
    raised = findings(job.iterate(60, noisy(5, slow=1, factor=1.6)))
    assert [finding.subject.rank for finding in raised] == [1]


def test_a_single_long_iteration_is_no_trouble(job: SimulatedJob) -> None:
    events = job.iterate(30, noisy(6))
    events += job.iterate(1, lambda rank, iteration: 3000.0)
    events += job.iterate(30, noisy(7))
    assert not findings(events)


def test_who_does_not_enter_is_named_within_ten_seconds(job: SimulatedJob) -> None:
    job.iterate(40)
    job.absent = {3}
    job.iterate(1)
    raised = findings(job.wait(9.0, [(3, lambda tick: f"/job/train.py:{tick % 2}:wait_for_flag")]))
    assert [(one.fault, one.subject.rank, one.subject.node) for one in raised] == [
        ("non-communication-hang", 3, "node3")
    ]
    assert sorted(victim.rank for victim in raised[0].victims) == [0, 1, 2]
    assert any("wait_for_flag" in (item.text or "") for item in raised[0].evidence)


def test_a_stall_in_the_loader_is_called_so(job: SimulatedJob) -> None:
    job.iterate(40)
    job.absent = {0}
    job.iterate(1)
    raised = findings(job.wait(9.0, [(0, lambda tick: "/x/torch/utils/data/dataloader.py:7:_next_data")]))
    assert [(one.fault, one.subject.rank) for one in raised] == [("data-loader", 0)]


@pytest.mark.parametrize("frame", ["/x/torch/serialization.py:{}:_save", "/job/train.py:{}:evaluate"])
def test_a_long_checkpoint_or_evaluation_is_no_hang(job: SimulatedJob, frame: str) -> None:
    job.iterate(40)
    job.absent = {0}
    job.iterate(1)
    assert not findings(job.wait(60.0, [(0, frame.format)]))


def test_code_that_moves_is_not_called_a_hang(job: SimulatedJob) -> None:
    job.iterate(40)
    job.absent = {0}
    job.iterate(1)
    assert not findings(job.wait(60.0, [(0, lambda tick: f"/job/model.py:1:layer{tick % 40}")]))


def test_a_stopped_process_is_named_even_inside_a_collective(
    job: SimulatedJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = worker_module.read_process
    job.iterate(40)
    for rank in range(4):
        job.enter(rank, job.now, 1000)
    job.watcher.poll()
    stopped = job.watcher.workers[2]
    stopped.header = replace(stopped.header)
    calls = iter(range(10**6))

    def look(pid: int, ticks: int = 0) -> ProcessFacts | None:
        facts = read(pid, ticks)
        return replace(facts, state="T") if facts and next(calls) % 4 == 2 else facts

    monkeypatch.setattr(worker_module, "read_process", look)
    raised = findings(job.wait(9.0))
    assert [one.subject.rank for one in raised] == [2]
    assert raised[0].phrase == "hang-stopped"


def test_all_inside_one_collective_blames_nobody(job: SimulatedJob) -> None:
    job.iterate(40)
    for rank in range(4):
        job.enter(rank, job.now, 1000)
    raised = findings(job.wait(12.0))
    assert [one.fault for one in raised] == ["communication-hang"]
    assert not raised[0].names_culprit


def test_a_skipped_collective_is_named(job: SimulatedJob) -> None:
    job.iterate(40)
    for rank in range(4):
        if rank != 1:
            job.enter(rank, job.now, 8)
        job.enter(rank, job.now + MS, 1000)
    raised = findings(job.wait(12.0))
    assert [(one.fault, one.subject.rank) for one in raised] == [("collective-desync", 1)]


def test_completions_that_nobody_can_know_are_no_stall(job: SimulatedJob) -> None:
    job.iterate(30)
    for rank, ring in enumerate(job.rings):
        job.enter(rank, job.now, 1000)
        ring.add_flag(ring._head - 1, layout.FLAG_COMPLETION_UNKNOWN)
    assert not findings(job.wait(30.0))


def test_a_hang_is_a_warning_first_where_the_process_is_not_stopped(job: SimulatedJob) -> None:
    job.iterate(40)
    job.absent = {3}
    job.iterate(1)
    raised = [
        e for e in job.wait(15.0, [(3, lambda tick: "/job/train.py:1:wait")]) if isinstance(e, FindingRaised)
    ]
    assert [(e.id, e.finding.severity.value) for e in raised] == [(0, "warning"), (0, "critical")]


def test_operations_that_were_lost_accuse_nobody(job: SimulatedJob) -> None:
    job.iterate(40)
    job.rings[1].set(lost=1)
    for rank in range(4):
        if rank != 1:
            job.enter(rank, job.now, 8)
        job.enter(rank, job.now + MS, 1000)
    raised = findings(job.wait(12.0))
    assert not any(one.fault == "collective-desync" for one in raised)
    assert not any(one.names_culprit for one in raised)


def test_a_watcher_that_comes_late_to_a_long_run_names_the_slow_one(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path, buckets=8)
    silent, job.watcher = job.watcher, Watcher(0, tmp_path / "elsewhere", {})
    job.iterate(layout.CAPACITY // 8 + 50)
    job.watcher = silent
    job.iterate(60, noisy(8))
    raised = findings(job.iterate(12, noisy(9, slow=2, factor=1.7)))
    assert [(one.fault, one.subject.rank) for one in raised] == [("non-communication-slow", 2)]


def test_of_two_rings_of_a_rank_the_newer_lives(job: SimulatedJob, tmp_path: Path) -> None:
    job.iterate(5)
    for rank in range(4):
        old = tmp_path / f"node{rank}.zz{rank}.ring"
        (tmp_path / f"node{rank}.{rank}.ring").rename(old)
    again = SimulatedJob(tmp_path)
    again.now = job.now
    for ring in again.rings:
        ring.set(started_ns=job.now + 5)
    again.watcher.poll()
    assert {worker.path.name for worker in again.watcher.workers.values()} == {
        f"node{rank}.{rank}.ring" for rank in range(4)
    }


def test_a_tap_that_sees_nothing_says_so(job: SimulatedJob) -> None:
    for ring in job.rings:
        ring.set(optimizer_steps=12)
    events = job.watcher.poll() + job.watcher.poll()
    degraded = [event.text for event in events if isinstance(event, WatchDegraded)]
    assert len(degraded) == 4
    assert all("sees none of its operations" in text for text in degraded)


def test_a_ring_cut_short_ends_the_sight_of_it_and_nothing_else(job: SimulatedJob, tmp_path: Path) -> None:
    job.iterate(20)
    with (tmp_path / "node1.1.ring").open("r+b") as ring:
        ring.truncate(100)
    events = job.watcher.poll() + job.watcher.poll()
    degraded = [event for event in events if isinstance(event, WatchDegraded)]
    assert len(degraded) == 1
    assert "rank 1" in degraded[0].text


def test_before_the_first_iteration_patience_is_long(job: SimulatedJob) -> None:
    job.absent = {1}
    job.iterate(1)
    assert not findings(job.wait(100.0))


def test_a_hang_that_ends_is_closed(job: SimulatedJob) -> None:
    job.iterate(40)
    job.absent = {3}
    job.iterate(1)
    assert findings(job.wait(9.0, [(3, lambda tick: "/job/train.py:1:wait")]))
    job.absent = set()
    at = job.now
    for bucket in range(3):
        job.enter(3, at + bucket * MS, 1000 + bucket, at + 9 * MS)
    for ring in job.rings:
        for index in range(ring._head - 3, ring._head):
            ring.update(index, "complete_ns", at + 9 * MS)
    closed = [event for event in job.iterate(5) if isinstance(event, FindingClosed)]
    assert len(closed) == 1


def test_an_exit_in_order_is_told_and_judged(job: SimulatedJob) -> None:
    job.iterate(10)
    for ring in job.rings:
        ring.set(state=layout.STATE_EXITED, exited_ns=job.now)
    events = job.wait(6.0)
    assert not findings(events)
    assert job.watcher.settled()


def test_who_stays_behind_when_all_others_left_is_named(job: SimulatedJob) -> None:
    job.iterate(10)
    for ring in job.rings[:3]:
        ring.set(state=layout.STATE_EXITED, exited_ns=job.now)
    raised = findings(job.wait(40.0, [(3, lambda tick: "/x/torch/distributed/c10d.py:1:destroy")]))
    assert [(one.phrase, one.subject.rank, one.severity.value) for one in raised] == [
        ("hang-at-exit", 3, "warning")
    ]


def test_a_long_last_checkpoint_is_no_hang_at_exit(job: SimulatedJob) -> None:
    job.iterate(10)
    for ring in job.rings[:3]:
        ring.set(state=layout.STATE_EXITED, exited_ns=job.now)
    assert not findings(job.wait(60.0, [(3, lambda tick: f"/x/torch/serialization.py:{tick}:_save")]))


MS = 1_000_000
