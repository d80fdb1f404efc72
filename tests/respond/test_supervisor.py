from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from evenpace.errors import Problem
from evenpace.findings import Finding
from evenpace.watch import events as ev

Maker = Callable[..., Any]
T = "2026-01-02T03:04:05.000Z"


class Signals:
    """Stand in for Interrupts: once a file is there, a person sends one signal a look."""

    def __init__(self, ready: Path, *numbers: int) -> None:
        self.ready, self.numbers = ready, list(numbers)

    def take(self) -> list[int]:
        if not self.ready.exists() or not self.numbers:
            return []
        return [self.numbers.pop(0)]


def checkpoint(folder: Path, step: int, content: bytes = b"weights") -> Path:
    path = folder / f"step-{step:08d}"
    path.mkdir(parents=True)
    (path / "model.bin").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    files = {"model.bin": {"bytes": len(content), "sha256": digest}}
    (path / "manifest.json").write_text(json.dumps({"step": step, "files": files}))
    return path


def test_a_job_that_ends_well_is_recorded_from_start_to_end(supervised: Maker) -> None:
    run = supervised(["sh", "-c", "echo hello $EVENPACE_NODE; exit 0"])
    assert run.supervisor.run() == 0
    kinds = [type(event).__name__ for event in run.events()]
    assert kinds == ["RunStarted", "IncarnationStarted", "WatchDegraded", "IncarnationEnded", "RunEnded"]
    assert "no worker of the job could be seen" in run.events(ev.WatchDegraded)[0].text
    assert run.folder.log(0, "here").read_text() == "hello here\n"
    assert run.events(ev.RunEnded)[0].outcome == "finished"


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_the_exit_code_is_the_jobs_own(supervised: Maker, script: str, code: int) -> None:
    run = supervised(["sh", "-c", script])
    assert run.supervisor.run() == code
    assert run.events(ev.RunEnded)[0].outcome == "failed"


def test_what_is_missing_from_the_start_is_said(
    supervised: Maker, torchrun: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    torchrun("exit 1")
    monkeypatch.setenv("FAKE_TAP_NOTE", "no compiler")
    run = supervised(["torchrun", "x.py"], nodes=["node0", "node1"], policy="restart", restarts=1)
    run.folder.log(1, "node1").mkdir(parents=True)
    run.supervisor.run()
    said = [(event.incarnation, event.text) for event in run.events(ev.WatchDegraded)]
    assert [number for number, _ in said] == [0, 1]
    assert "no compiler" in said[0][1]
    assert "log of node1 cannot be written (Is a directory)" in said[1][1]


def test_each_node_is_a_torchrun_with_its_rank_and_log(supervised: Maker, torchrun: Maker) -> None:
    torchrun('echo "$EVENPACE_NODE $@"')
    run = supervised(["torchrun", "--nproc-per-node=2", "train.py", "--lr", "1"], nodes=["node0", "node1"])
    assert run.supervisor.run() == 0
    for rank in (0, 1):
        name, *words = run.folder.log(0, f"node{rank}").read_text().split()
        assert name == f"node{rank}"
        assert words[:3] == ["--nnodes=2", f"--node-rank={rank}", "--master-addr=127.0.0.1"]
        assert words[4:] == ["--nproc-per-node=2", "train.py", "--lr", "1"]


def test_observe_says_what_it_would_do_and_does_nothing(
    supervised: Maker, torchrun: Maker, finding: Maker
) -> None:
    torchrun("sleep 0.5")
    say = lambda watcher: watcher.once(finding())  # noqa: E731
    run = supervised(["torchrun", "x.py"], say, nodes=["node0", "node1"], restarts=3, max_nodes_out=1)
    assert run.supervisor.run() == 0
    (decision,) = run.events(ev.Decision)
    assert (decision.action, decision.nodes_out) == ("would-restart", ["node1"])
    assert len(run.events(ev.IncarnationStarted)) == 1


def test_restart_takes_the_culprit_out_and_goes_on_from_the_newest_valid_checkpoint(
    supervised: Maker, torchrun: Maker, finding: Maker, tmp_path: Path
) -> None:
    good = checkpoint(tmp_path / "ckpt", 20)
    bad = checkpoint(tmp_path / "ckpt", 40)
    (bad / "model.bin").write_bytes(b"weighty")
    torchrun(
        '[ "$EVENPACE_INCARNATION" = 1 ] && { echo "from $EVENPACE_CHECKPOINT"; exit 0; }; exec sleep 600'
    )

    def say(watcher: Any) -> list[ev.Event]:
        return (
            watcher.once(finding("non-communication-hang"), iteration=7) if watcher.incarnation == 0 else []
        )

    run = supervised(
        ["torchrun", "x.py"],
        say,
        policy="restart",
        nodes=["node0", "node1"],
        spares=["spare0"],
        restarts=3,
        max_nodes_out=2,
        checkpoint_dir=str(tmp_path / "ckpt"),
    )
    assert run.supervisor.run() == 0
    (decision,) = run.events(ev.Decision)
    assert (decision.action, decision.nodes_out, decision.nodes_in) == ("restart", ["node1"], ["spare0"])
    assert (decision.checkpoint, decision.step, decision.finding) == (str(good), 20, 0)
    (skipped,) = run.events(ev.CheckpointSkipped)
    assert skipped.path == str(bad)
    assert "SHA-256" in skipped.reason
    assert (tmp_path / "ckpt/.evenpace-set-aside/step-00000040/model.bin").read_bytes() == b"weighty"
    second = run.events(ev.IncarnationStarted)[1]
    assert list(second.agents) == ["node0", "spare0"]
    assert run.folder.log(1, "spare0").read_text() == f"from {good}\n"
    assert [closed.reason for closed in run.events(ev.FindingClosed)] == ["restart"]
    assert [ended.outcome for ended in run.events(ev.IncarnationEnded)] == ["stopped", "finished"]


def test_a_stop_leaves_nothing_behind(supervised: Maker, torchrun: Maker, finding: Maker) -> None:
    torchrun(
        '[ "$EVENPACE_INCARNATION" = 1 ] && exit 0\n'
        "trap '' TERM\n"
        "setsid sleep 601 & sleep 602 & kill -STOP $!; echo ready; wait"
    )

    def say(watcher: Any) -> list[ev.Event]:
        ready = all(path.exists() and path.read_text() for path in watcher.logs.values())
        return watcher.once(finding()) if ready and watcher.incarnation == 0 else []

    run = supervised(
        ["torchrun", "x.py"], say, policy="restart", nodes=["node0", "node1"], restarts=1, max_nodes_out=1
    )
    assert run.supervisor.run() == 0
    left = [process for process in psutil.process_iter() if marked(process, run.folder.path)]
    assert left == []


def marked(process: psutil.Process, run: Path) -> bool:
    try:
        return process.environ().get("EVENPACE_RUN") == str(run)
    except psutil.Error:
        return False


def test_a_failure_without_a_finding_is_restarted_in_place_within_the_budget(supervised: Maker) -> None:
    run = supervised(["sh", "-c", "exit 5"], policy="restart", restarts=2)
    assert run.supervisor.run() == 75
    assert [decision.action for decision in run.events(ev.Decision)] == ["restart", "restart", "give-up"]
    assert len(run.events(ev.IncarnationStarted)) == 3


def test_ids_of_findings_count_across_incarnations(supervised: Maker, finding: Maker) -> None:
    run = supervised(
        ["sh", "-c", "exit 5"], lambda watcher: watcher.once(finding(node=None)), policy="restart", restarts=1
    )
    run.supervisor.run()
    assert [raised.id for raised in run.events(ev.FindingRaised)] == [0, 1]


def test_the_same_software_fault_at_the_same_step_twice_gives_up(supervised: Maker, finding: Maker) -> None:
    say = lambda watcher: watcher.once(finding("user-code-exception", None), iteration=12)  # noqa: E731
    run = supervised(["sh", "-c", "exit 1"], say, policy="restart", restarts=9)
    assert run.supervisor.run() == 75
    assert [decision.action for decision in run.events(ev.Decision)] == ["restart", "give-up"]


def test_a_watcher_that_fails_does_not_stop_the_job(supervised: Maker) -> None:
    def say(watcher: Any) -> list[ev.Event]:
        raise RuntimeError("a defect")

    run = supervised(["sh", "-c", "sleep 0.2; exit 4"], say)
    assert run.supervisor.run() == 4
    *anew, blind, unseen = run.events(ev.WatchDegraded)
    assert "could be seen" in unseen.text
    assert ["begins anew" in event.text for event in anew] == [True] * 3
    assert "watching stopped" in blind.text
    assert all("a defect" in event.text for event in (*anew, blind))


def test_a_fresh_watcher_goes_on_where_one_failed(supervised: Maker, finding: Maker) -> None:
    """It hears of the agents that ended, and what it says again is not written twice."""
    joined = ev.WorkerJoined(
        time=T, incarnation=0, rank=0, local_rank=0, world_size=1, node="here", pid=9, tap="native"
    )
    failures = [RuntimeError("a defect")]

    def say(watcher: Any) -> list[ev.Event]:
        if not watcher.exits:
            return [joined, *watcher.once(finding(node=None))]
        if failures:
            raise failures.pop()
        return [joined, *watcher.once(finding(node=None))]

    run = supervised(["sh", "-c", "sleep 0.3; exit 4"], say)
    assert run.supervisor.run() == 4
    assert len(run.events(ev.WorkerJoined)) >= 1
    assert len(run.events(ev.WatchDegraded)) == 1
    assert {event.id for event in run.events(ev.FindingRaised)} == {0}


def test_a_search_for_checkpoints_that_fails_costs_no_restart(
    supervised: Maker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("evenpace.respond.supervisor.newest_valid", refuse)
    run = supervised(["sh", "-c", "exit 5"], policy="restart", restarts=1, checkpoint_dir=str(tmp_path))
    assert run.supervisor.run() == 75
    (skipped,) = run.events(ev.CheckpointSkipped)
    assert "PermissionError" in skipped.reason
    assert len(run.events(ev.IncarnationStarted)) == 2


def test_a_signal_is_passed_on_once_and_nothing_is_restarted(supervised: Maker, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"trap 'echo got it; exit 9' TERM; touch {ready}; while :; do sleep 0.05; done"
    signals = Signals(ready, signal.SIGTERM, signal.SIGTERM)
    run = supervised(["sh", "-c", script], policy="restart", restarts=3, interrupts=signals)
    assert run.supervisor.run() == 9
    assert run.folder.log(0, "here").read_text() == "got it\n"
    assert run.events(ev.RunEnded)[0].outcome == "interrupted"


def test_a_second_interrupt_forces_the_end(supervised: Maker, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"trap '' INT TERM; touch {ready}; while :; do sleep 0.05; done"
    run = supervised(["sh", "-c", script], interrupts=Signals(ready, signal.SIGINT, signal.SIGINT))
    assert run.supervisor.run() == 137


def test_a_program_that_cannot_be_started_is_a_problem_and_the_run_is_closed(
    supervised: Maker, tmp_path: Path
) -> None:
    (tmp_path / "odd").write_text("no program")
    os.chmod(tmp_path / "odd", 0o755)  # noqa: PTH101, S103
    run = supervised([str(tmp_path / "odd")])
    with pytest.raises(Problem, match="odd"):
        run.supervisor.run()
    assert run.events(ev.RunEnded)[0].exit_code == 2


def test_slow_findings_change_nothing(supervised: Maker, finding: Maker) -> None:
    def say(watcher: Any) -> list[ev.Event]:
        slow: Finding = finding("non-communication-slow")
        return watcher.once(slow)

    run = supervised(["sh", "-c", "sleep 2.5"], say, policy="restart", restarts=3)
    assert run.supervisor.run() == 0
    assert [decision.action for decision in run.events(ev.Decision)] == ["none"]
