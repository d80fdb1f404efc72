"""Find and end the processes of a run: the trees of its agents, and strays, known by their environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import psutil

RUN, NODE = "EVENPACE_RUN", "EVENPACE_NODE"


def alive(process: psutil.Process) -> bool:
    """Tell whether this very process (not a later one with its pid) still runs; a zombie does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def belongs(process: psutil.Process, run: str, node: str | None = None) -> bool:
    """Tell whether a process was started for `run` (and `node`), by its environment."""
    try:
        environment = process.environ()
    except (psutil.Error, OSError):
        return False
    return bool(environment.get(RUN) == run) and (node is None or environment.get(NODE) == node)


def members(run: str, node: str | None = None) -> list[psutil.Process]:
    """Return all processes on this machine that were started for `run` (and `node`), except this one."""
    own = os.getpid()
    return [
        process for process in psutil.process_iter() if process.pid != own and belongs(process, run, node)
    ]


def find(pid: int, run: str, node: str) -> psutil.Process | None:
    """Return the agent of `node` if `pid` still is that process, by its environment; else None."""
    try:
        process = psutil.Process(pid)
    except psutil.Error:
        return None
    return process if belongs(process, run, node) else None


def tree(process: psutil.Process | None) -> list[psutil.Process]:
    """Return a process and all its descendants; empty where it is gone."""
    try:
        return [process, *process.children(recursive=True)] if process else []
    except psutil.Error:
        return []


def kill_all(
    targets: Callable[[], Iterable[psutil.Process]],
    sleep: Callable[[float], None],
    rounds: int = 100,
    pause: float = 0.05,
) -> list[int]:
    """Send SIGKILL to what `targets` returns until nothing is left; return the pids that outlived all rounds.

    Finding again in each round catches what was forked in between. A process in an uninterruptible system
    call dies only when that returns; `rounds` times `pause` seconds is how long we wait.
    """
    left: set[psutil.Process] = set()
    for _ in range(rounds):
        left = {process for process in left | set(targets()) if alive(process)}
        if not left:
            return []
        for process in left:
            _kill(process)
        sleep(pause)
    return sorted(process.pid for process in left if alive(process))


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.Error:
        return
