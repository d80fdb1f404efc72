"""Who may be hit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from evenpace.errors import Problem
from evenpace.faults.target import Target, aim, worker, workers
from evenpace.watch.events import Event, IncarnationStarted, WorkerJoined, encode

NOW = "2026-01-01T00:00:00.000Z"


def joined(rank: int, pid: int, incarnation: int = 0) -> WorkerJoined:
    return WorkerJoined(
        time=NOW,
        incarnation=incarnation,
        rank=rank,
        local_rank=0,
        world_size=4,
        node=f"node{rank}",
        pid=pid,
        tap="native",
    )


def log(folder: Path, *events: Event, tail: bytes = b"") -> Path:
    (folder / "events.jsonl").write_bytes(b"".join(encode(event) + b"\n" for event in events) + tail)
    return folder


def test_a_process_that_is_no_worker_is_refused() -> None:
    with pytest.raises(Problem, match="no worker of an evenpace run; --force"):
        aim(os.getpid())
    assert aim(os.getpid(), force=True).alive()


def test_a_process_of_another_user_is_refused(
    busy: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(Problem, match="belongs to another user"):
        aim(busy.pid)


def test_a_process_that_is_gone_is_said(busy: subprocess.Popen[str]) -> None:
    busy.kill()
    busy.wait()
    with pytest.raises(Problem, match=f"there is no process {busy.pid}"):
        aim(busy.pid)


def test_a_target_dies(target: Target, busy: subprocess.Popen[str]) -> None:
    assert target.alive()
    busy.kill()
    busy.wait()
    assert not target.alive()


def test_workers_are_those_of_the_latest_incarnation(tmp_path: Path) -> None:
    restart = IncarnationStarted(time=NOW, incarnation=1, agents={}, rings="")
    run = log(tmp_path, joined(0, 10), joined(1, 11), restart, joined(0, 20, 1), tail=b'{"event":"worker-jo')
    assert {rank: event.pid for rank, event in workers(run).items()} == {0: 20}
    with pytest.raises(Problem, match="ranks that joined: 0"):
        worker(run, 1)


def test_a_folder_without_a_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no run in"):
        workers(tmp_path)
