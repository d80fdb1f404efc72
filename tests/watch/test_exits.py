"""Exits: told once, judged when they have settled, read from the log where the worker left no word."""

from __future__ import annotations

from pathlib import Path

from tests.watch.simulated import SimulatedJob

from evenpace.tap.inject.evenpace_tap import layout
from evenpace.watch.events import FindingRaised, WorkerExited

LOST_PEER = "RuntimeError: Connection closed by peer [127.0.0.1]:1\n  File train.py"


def raise_in(job: SimulatedJob, rank: int, exception: str) -> None:
    job.rings[rank].write_text(layout.EXCEPTION_AREA, exception)
    job.rings[rank].set(state=layout.STATE_EXCEPTION, exited_ns=job.now)


def test_the_first_cause_is_named_once_all_have_ended(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    job.iterate(10)
    raise_in(job, 2, "KeyError: 'label'\n  File train.py, line 9")
    for rank in (0, 1, 3):
        raise_in(job, rank, LOST_PEER)
    events = job.wait(1.0)
    assert [event.rank for event in events if isinstance(event, WorkerExited)] == [0, 1, 2, 3]
    raised = [event.finding for event in events if isinstance(event, FindingRaised)]
    assert [(one.subject.rank, one.phrase) for one in raised] == [(2, "crash-exception")]
    assert job.watcher.settled()


def test_it_is_judged_after_a_while_though_others_live_on(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    job.iterate(10)
    raise_in(job, 1, "ValueError: boom")
    early, late = job.wait(3.0), job.wait(3.0)
    assert not any(isinstance(event, FindingRaised) for event in early)
    assert [event.finding.subject.rank for event in late if isinstance(event, FindingRaised)] == [1]
    assert not job.watcher.settled()


def test_the_agents_log_says_which_signal(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    log = tmp_path / "node3.log"
    job.watcher.exits.logs["node3"] = log
    job.iterate(10)
    worker = job.watcher.workers[3]
    log.write_text(f"api.py failed (exitcode: -9) local_rank: 0 (pid: {worker.id.pid}) of binary: python\n")
    worker.died_ns = job.now
    for rank in (0, 1, 2):
        raise_in(job, rank, LOST_PEER)
    raised = [event.finding for event in job.wait(5.0) if isinstance(event, FindingRaised)]
    assert [(one.fault, one.subject.rank, one.details["signal"]) for one in raised] == [
        ("worker-killed", 3, "SIGKILL")
    ]
    assert raised[0].evidence[0].line == 1


def test_a_killed_agent_is_a_lost_node(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    job.iterate(10)
    job.watcher.agent_exited("node2", -9)
    raised = [event.finding for event in job.wait(6.0) if isinstance(event, FindingRaised)]
    assert [(one.fault, one.subject.node) for one in raised] == [("node-lost", "node2")]


def test_who_left_in_order_while_others_waited_in_a_collective_is_named(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    job.iterate(10)
    job.rings[0].set(state=layout.STATE_EXITED, exited_ns=job.now)
    for rank in (1, 2, 3):
        job.enter(rank, job.now, 1000)
        raise_in(job, rank, LOST_PEER)
    raised = [event.finding for event in job.wait(2.0) if isinstance(event, FindingRaised)]
    assert [(one.phrase, one.subject.rank) for one in raised] == [("crash-left-early", 0)]
