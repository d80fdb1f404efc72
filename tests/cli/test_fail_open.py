"""Training goes on whatever happens to evenpace, and watching goes on after it: real workers, real kills."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from evenpace.watch.eventlog import read_events
from evenpace.watch.events import Event, IncarnationStarted, Iteration, RunEnded, WatchAttached

pytestmark = [pytest.mark.torch, pytest.mark.timeout(180)]

Eventually = Callable[..., None]


@pytest.fixture
def command(repository: Path, tmp_path: Path) -> list[str]:
    """Return a training of two ranks, which share one import of torch."""
    script = repository / "examples" / "train_ddp.py"
    launcher = [sys.executable, str(repository / "benchmarks" / "forkrun.py"), "2", str(script)]
    return [*launcher, "--steps=200", "--read-ms=30", f"--ids-log={tmp_path / 'ids'}"]


@pytest.fixture
def controller(command: list[str], tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    run = [
        sys.executable,
        "-m",
        "evenpace",
        "run",
        f"--run-dir={tmp_path / 'run'}",
        "--quiet",
        "--",
        *command,
    ]
    with subprocess.Popen(run, start_new_session=True) as process:
        yield process
        for agent in agents(tmp_path / "run"):
            with_children = [*agent.children(recursive=True), agent]
            for one in with_children:
                one.kill()
        process.kill()


def agents(run: Path) -> list[psutil.Process]:
    started = [event for event in events(run) if isinstance(event, IncarnationStarted)]
    pids = [pid for event in started for pid in event.agents.values()]
    return [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]


def events(run: Path) -> list[Event]:
    log = run / "events.jsonl"
    return list(read_events(log)) if log.exists() and log.stat().st_size else []


def count(run: Path) -> int:
    return sum(isinstance(event, Iteration) for event in events(run))


def steps(folder: Path) -> int:
    log = folder / "ids" / "rank0.jsonl"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_training_outlives_its_controller_and_is_watched_again(
    controller: subprocess.Popen[bytes], tmp_path: Path, eventually: Eventually
) -> None:
    run = tmp_path / "run"
    eventually(lambda: count(run) > 10, 60)
    os.kill(controller.pid, signal.SIGKILL)
    controller.wait()
    seen, trained = count(run), steps(tmp_path)
    eventually(lambda: steps(tmp_path) > trained + 10, 30)
    attached = subprocess.run(
        [sys.executable, "-m", "evenpace", "run", f"--attach={run}", "--quiet"], timeout=120, check=False
    )
    assert attached.returncode == 0
    told = events(run)
    assert any(isinstance(event, WatchAttached) for event in told)
    numbers = [event.iteration for event in told if isinstance(event, Iteration)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > seen + 10
    assert isinstance(told[-1], RunEnded)
    assert told[-1].outcome == "finished"
    assert steps(tmp_path) >= 200


def test_training_goes_on_where_its_rings_are_taken_away(
    controller: subprocess.Popen[bytes], tmp_path: Path, eventually: Eventually
) -> None:
    run = tmp_path / "run"
    eventually(lambda: count(run) > 10, 60)
    (started,) = (event for event in events(run) if isinstance(event, IncarnationStarted))
    shutil.rmtree(started.rings)
    assert controller.wait(timeout=120) == 0
    assert steps(tmp_path) >= 200
