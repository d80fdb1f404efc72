"""Faults from outside, on a real process: they do what they say, and revert."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from evenpace import faults
from evenpace.faults.catalog import cpu_contention
from evenpace.faults.target import Target, aim

Eventually = Callable[..., None]


def cpu_seconds(target: Target) -> float:
    times = target.process.cpu_times()
    return float(times.user + times.system)


def stopped(target: Target) -> bool:
    return bool(target.process.status() == psutil.STATUS_STOPPED)


def test_slow_stops_and_resumes_until_the_end(target: Target, eventually: Eventually) -> None:
    with faults.find("slow").inject(target):
        for _ in range(3):
            eventually(lambda: stopped(target))
            eventually(lambda: not stopped(target))
    before = cpu_seconds(target)
    eventually(lambda: cpu_seconds(target) > before)
    assert not stopped(target)


def test_slow_leaves_the_worker_its_share(target: Target, eventually: Eventually) -> None:
    fourth = Target(target.process, factor=4)
    with faults.find("slow").inject(fourth):
        before, began = cpu_seconds(fourth), time.monotonic()
        eventually(lambda: cpu_seconds(fourth) > before + 0.2)
        assert time.monotonic() - began > 0.5  # at full speed 0.2 s would do


def test_hang_stopped_holds_and_resumes(target: Target, eventually: Eventually) -> None:
    with faults.find("hang-stopped").inject(target):
        eventually(lambda: stopped(target))
    eventually(lambda: not stopped(target))


@pytest.mark.parametrize(
    ("name", "number"), [("crash-sigkill", signal.SIGKILL), ("crash-sigsegv", signal.SIGSEGV)]
)
def test_crashes_end_the_worker(
    name: str, number: int, target: Target, busy: subprocess.Popen[str], eventually: Eventually
) -> None:
    with faults.find(name).inject(target):
        eventually(lambda: not target.alive())
    assert busy.wait() == -number


def test_a_killed_injector_leaves_nobody_stopped(
    target: Target, repository: Path, eventually: Eventually
) -> None:
    code = (
        "import sys\nfrom evenpace import faults\nfrom evenpace.faults.target import aim\n"
        "with faults.find('hang-stopped').inject(aim(int(sys.argv[1]))):\n"
        "    print('on', flush=True)\n    sys.stdin.read()"
    )
    environ = {**os.environ, "PYTHONPATH": str(repository / "src")}
    with subprocess.Popen(
        [sys.executable, "-c", code, str(target.process.pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environ,
    ) as injector:
        assert injector.stdout
        assert injector.stdout.readline() == b"on\n"
        eventually(lambda: stopped(target))
        injector.kill()
    eventually(lambda: not stopped(target))


def test_contention_cuts_cpu_time_and_gives_it_back(target: Target, eventually: Eventually) -> None:
    before = Path(f"/proc/{target.process.pid}/cgroup").read_text()
    with faults.find("cpu-contention").inject(aim(target.process.pid, factor=8)):
        start, began = cpu_seconds(target), time.monotonic()
        eventually(lambda: cpu_seconds(target) > start + 0.1)
        assert time.monotonic() - began > 0.15
    assert Path(f"/proc/{target.process.pid}/cgroup").read_text() == before
    assert len(target.process.cpu_affinity()) == psutil.Process().cpu_affinity().__len__()


def test_contention_without_cgroups_pins_and_crowds(
    target: Target, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cpu_contention, "ROOT", tmp_path)
    cores, before = target.process.cpu_affinity(), len(psutil.Process().children())
    with faults.find("cpu-contention").inject(Target(target.process, factor=3)):
        assert target.process.cpu_affinity() == [cores[-1]]
        assert len(psutil.Process().children()) == before + 2  # that crowd the worker
    with suppress(psutil.NoSuchProcess):
        assert target.process.cpu_affinity() == cores
    assert len(psutil.Process().children()) == before
