"""What the kernel says about a worker's process, read from /proc: alive, stopped, starved of CPU."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """One look at a process.

    `state` is the kernel's letter (R running, S sleeping, D disk sleep, T stopped, t traced, Z zombie,
    X dead);
    `cpu_seconds` what it has used, `run_delay_seconds` how long it stood runnable without getting a CPU
    (None where the kernel does not count it).
    """

    pid: int
    state: str
    start_ticks: int
    cpu_seconds: float
    run_delay_seconds: float | None

    @property
    def stopped(self) -> bool:
        """Tell whether a signal or a tracer holds it."""
        return self.state in "Tt"

    @property
    def dead(self) -> bool:
        """Tell whether it has ended but was not reaped yet."""
        return self.state in "ZX"


def read_process(pid: int, start_ticks: int = 0, proc: Path = PROC) -> ProcessFacts | None:
    """Look at a process; None where it is gone, or where the pid now belongs to another (`start_ticks`)."""
    try:
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    started = int(fields[19])
    if start_ticks and started != start_ticks:
        return None
    ticks = int(fields[11]) + int(fields[12])
    return ProcessFacts(pid, fields[0], started, ticks / CLOCK_TICKS, _run_delay(pid, proc))


def _run_delay(pid: int, proc: Path) -> float | None:
    # The file of the process counts its main thread only, which is the one that trains.
    try:
        return int((proc / str(pid) / "schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return None


CLOCK_TICKS = 100  # USER_HZ: part of the kernel's ABI on every architecture that we support
