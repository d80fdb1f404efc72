"""The process that a fault is aimed at, and the guard against aiming at the wrong one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from evenpace.errors import Problem
from evenpace.watch.events import IncarnationStarted, WorkerJoined, decode

RUN_VARIABLE = "EVENPACE_RUN"  # in the environment of every worker of a run


@dataclass(frozen=True)
class Target:
    """Hold a process and how hard to hit it: with `factor` 2 it gets half of its speed."""

    process: psutil.Process
    factor: float = 2.0

    def alive(self) -> bool:
        """Tell whether the process still runs; a reused pid or a zombie does not count."""
        try:
            return bool(self.process.is_running()) and self.process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False


def aim(pid: int, factor: float = 2.0, force: bool = False) -> Target:
    """Return the target `pid`; raises Problem where it is gone, not ours, or no worker of a run.

    `force` waives the last two.
    """
    try:
        process = psutil.Process(pid)
        if not force:
            _refuse_strangers(process)
    except psutil.NoSuchProcess:
        raise Problem(f"there is no process {pid}: has the worker ended?") from None
    except psutil.AccessDenied:
        raise Problem(f"process {pid} is not yours to inspect; choose a worker of your own run") from None
    return Target(process, factor)


def _refuse_strangers(process: psutil.Process) -> None:
    if process.uids().effective != os.geteuid():
        raise Problem(f"process {process.pid} belongs to another user; --force to hit it all the same")
    if RUN_VARIABLE not in process.environ():
        raise Problem(
            f"process {process.pid} is no worker of an evenpace run; --force to hit it all the same"
        )


def workers(run: Path) -> dict[int, WorkerJoined]:
    """Return the workers of a run's latest incarnation by rank; raises Problem where there is no such run."""
    try:
        lines = (run / "events.jsonl").read_bytes().splitlines()
    except OSError as error:
        raise Problem(f"no run in {run}: {error.strerror} (events.jsonl); name the folder of a run") from None
    joined: dict[int, WorkerJoined] = {}
    for line in lines:
        try:
            event = decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # a line that is being written, or of a later version
        if isinstance(event, IncarnationStarted):
            joined.clear()
        elif isinstance(event, WorkerJoined):
            joined[event.rank] = event
    return joined


def worker(run: Path, rank: int) -> WorkerJoined:
    """Return the worker of `rank`; raises Problem where it has not joined."""
    joined = workers(run)
    if rank not in joined:
        known = ", ".join(map(str, sorted(joined))) or "none yet"
        raise Problem(f"no rank {rank} in {run}; ranks that joined: {known}")
    return joined[rank]
