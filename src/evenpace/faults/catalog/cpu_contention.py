"""A worker that gets only part of the CPU time it uses: a cgroup quota, or busy loops on its core."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from evenpace.faults.target import Target

FAULTS = ("non-communication-slow",)
CULPRIT = True
ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 20_000
MEASURE = 0.5  # seconds to see how much CPU time the worker uses by itself


@contextmanager
def inject(target: Target) -> Iterator[None]:
    """Limit the CPU time until the context ends."""
    share = max(target.process.cpu_percent(MEASURE) / 100, 0.05) / target.factor
    home = _home(target.process.pid)
    cage = home and _cage(home, target.process.pid, share)
    if not (home and cage):
        with _crowded(target):
            yield
        return
    try:
        yield
    finally:
        with suppress(OSError):  # the worker may be gone
            (home / "cgroup.procs").write_text(str(target.process.pid))
        with suppress(OSError):
            cage.rmdir()


def _home(pid: int) -> Path | None:
    """Return the process's own cgroup for CPU time, v1 or v2; None where there is none."""
    unified = None
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            return ROOT / "cpu" / path.lstrip("/")
        if not controllers:
            unified = ROOT / path.lstrip("/")
    return unified


def _cage(home: Path, pid: int, share: float) -> Path | None:
    """Move the process to a new cgroup with a quota; None where that is not allowed here."""
    parent = home if home in {ROOT, ROOT / "cpu"} else home.parent  # a root has no siblings
    cage = parent / f"evenpace-fault-{pid}"
    quota = max(int(PERIOD_US * share), 1000)  # the kernel takes no less
    try:
        cage.mkdir(exist_ok=True)
        if (cage / "cpu.cfs_quota_us").exists():
            (cage / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (cage / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            _existing(cage / "cpu.max").write_text(f"{quota} {PERIOD_US}")
        (cage / "cgroup.procs").write_text(str(pid))
    except OSError:
        with suppress(OSError):
            cage.rmdir()
        return None
    return cage


def _existing(path: Path) -> Path:
    """Return `path`; raises OSError where it is not there (outside cgroupfs a write would make it)."""
    path.stat()
    return path


@contextmanager
def _crowded(target: Target) -> Iterator[None]:
    """Pin the worker to one core, together with as many busy loops as the factor asks for."""
    cores = target.process.cpu_affinity()
    core = cores[-1]
    loops = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"])
        for _ in range(max(round(target.factor) - 1, 1))
    ]
    try:
        for pid in [target.process.pid, *(loop.pid for loop in loops)]:
            psutil.Process(pid).cpu_affinity([core])
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
        with suppress(psutil.NoSuchProcess):
            target.process.cpu_affinity(cores)
