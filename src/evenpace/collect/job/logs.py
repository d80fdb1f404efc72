"""What a node's log says about its workers' ends: codes and signals from torchrun's failure table."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path

TAIL_BYTES = 256 * 1024
_EXIT = re.compile(r"exitcode\s{0,8}: (-?\d{1,4}) \(pid: (\d{1,9})\)")
_CLOSED = re.compile(r"Sending process (\d{1,9}) closing signal (SIG[A-Z]{2,9})")
_FAILED = re.compile(r"failed \(exitcode: (-?\d{1,4})\) local_rank: (\d{1,5}) \(pid: (\d{1,9})\)")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log and where it stands (1-based from the start of the file, or of its tail)."""

    path: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class LoggedExit:
    """How a log says that a process ended: `code` is negative for a signal."""

    pid: int
    code: int
    line: LogLine

    @property
    def signal_name(self) -> str:
        """Return `SIGKILL` and the like, or an empty string."""
        return signal_name(-self.code) if self.code < 0 else ""


def signal_name(number: int) -> str:
    """Return the name of a signal, or `signal N` where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def read_tail(path: Path, limit: int = TAIL_BYTES) -> list[LogLine]:
    """Return the lines of a file's last `limit` bytes; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - limit))
            data = file.read(limit)
    except OSError:
        return []
    lines = data.decode("utf-8", "replace").splitlines()
    return [LogLine(str(path), number, text[:2000]) for number, text in enumerate(lines, 1)]


def logged_exits(lines: list[LogLine]) -> dict[int, LoggedExit]:
    """Return by pid what torchrun wrote about its workers' ends; the first word about a pid counts."""
    exits: dict[int, LoggedExit] = {}
    for line in lines:
        for code, pid in _codes(line.text):
            exits.setdefault(pid, LoggedExit(pid, code, line))
    return exits


def _codes(text: str) -> list[tuple[int, int]]:
    found = [(int(code), int(pid)) for code, pid in _EXIT.findall(text)]
    return found + [(int(code), int(pid)) for code, _local_rank, pid in _FAILED.findall(text)]


def closed_by_agent(lines: list[LogLine]) -> dict[int, str]:
    """Return by pid the signal with which an agent closed a worker because another one had failed."""
    return {int(pid): name for line in lines for pid, name in _CLOSED.findall(line.text)}


def last_error_lines(lines: list[LogLine], count: int = 5) -> list[LogLine]:
    """Return the last lines that look like an error, for a process that left no other word."""
    telling = [line for line in lines if _telling(line.text)]
    return telling[-count:]


def _telling(text: str) -> bool:
    lowered = text.lower()
    return any(
        word in lowered for word in ("error", "exception", "fatal", "terminate called", "signal", "abort")
    )
