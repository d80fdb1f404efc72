"""Write and read `events.jsonl`: append-only, one event a line, never fatal to the run."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import msgspec

from evenpace.errors import Problem
from evenpace.watch.events import AnyEvent, Event, decode, encode

MAX_LINE = 16 << 20  # bytes; a longer line is damage
CHUNK = 1 << 20
KNOWN = frozenset(str(kind.__struct_config__.tag) for kind in get_args(AnyEvent))


class _Tag(msgspec.Struct):
    event: str


_decode_tag = msgspec.json.Decoder(_Tag).decode


@dataclass(frozen=True, slots=True)
class LineProblem:
    """Say which line of the log could not be read, and why. Lines count from 1."""

    line: int
    reason: str


class EventWriter:
    """Append events, one `os.write` each. A full disk loses lines (counted in `lost`), never the run.

    `warn` hears of that (`Voice.say`).
    Raises Problem where the file cannot be opened, or another evenpace already writes to it.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        self.lost = 0
        self._warn = warn
        self._path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise Problem(f"cannot write {path}: {error.strerror}; choose another --run-dir") from error
        self._lock()
        self._broken = self._ends_within_a_line()

    def _lock(self) -> None:
        """Keep a second controller out; a file system without locks is let through."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._fd)
            raise Problem(
                f"{self._path.parent} is being watched by another evenpace; stop it first"
            ) from error
        except OSError:
            return

    def _ends_within_a_line(self) -> bool:
        size = os.fstat(self._fd).st_size
        return size > 0 and os.pread(self._fd, 1, size - 1) != b"\n"

    def write(self, event: Event) -> None:
        """Append one event; what cannot be written is counted in `lost` and said once."""
        line = (b"\n" if self._broken else b"") + encode(event) + b"\n"
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            self._lose(error.strerror or str(error))
            return
        self._broken = written < len(line)
        if self._broken:
            self._lose("no space left on device")

    def _lose(self, reason: str) -> None:
        self.lost += 1
        if self.lost == 1:
            self._warn(f"cannot write {self._path}: {reason}; training goes on, events are lost")

    def close(self) -> None:
        """Close the file, and say how many events were lost, if any."""
        os.close(self._fd)
        if self.lost:
            self._warn(f"{self.lost} events were not written to {self._path}")


class _Lines:
    """Cut a byte stream into events; bad lines become problems. Memory is bounded by MAX_LINE."""

    def __init__(self) -> None:
        self.problems: list[LineProblem] = []
        self._number = 0
        self._rest = b""
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events of all lines that `data` completes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._number += 1
            if self._skipping:
                self._skipping = False
                continue
            yield from self._parse(line)
        if len(self._rest) > MAX_LINE:
            self._overlong()

    def _overlong(self) -> None:
        if not self._skipping:
            self.problems.append(LineProblem(self._number + 1, f"longer than {MAX_LINE} bytes"))
        self._skipping, self._rest = True, b""

    def finish(self) -> Iterator[Event]:
        """Yield the event of a last line without its newline, if it is whole."""
        rest, self._rest = self._rest, b""
        if rest and not self._skipping:
            self._number += 1
            yield from self._parse(rest)

    def _parse(self, line: bytes) -> Iterator[Event]:
        if not line.strip():
            return
        try:
            yield decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not _unknown_kind(line):
                self.problems.append(LineProblem(self._number, str(error)))


def _unknown_kind(line: bytes) -> bool:
    """Tell a kind of event from a later version, which a reader ignores, from damage."""
    try:
        return _decode_tag(line).event not in KNOWN
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def read_events(path: Path, problems: list[LineProblem] | None = None) -> Iterator[Event]:
    """Yield the events of a log in order; lines that cannot be read are appended to `problems`.

    Raises Problem where the file cannot be opened or not one event can be read.
    """
    lines, count = _Lines(), 0
    try:
        with path.open("rb") as file:
            while data := file.read(CHUNK):
                for event in lines.feed(data):
                    count += 1
                    yield event
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}; give the folder of a run") from error
    for event in lines.finish():
        count += 1
        yield event
    if problems is not None:
        problems += lines.problems
    if not count:
        raise Problem(f"{path} holds no event that can be read; it is empty, damaged or not a run's log")


class EventTail:
    """Follow a log: each `read` returns the events that were completed since the last one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._lines = _Lines()

    @property
    def problems(self) -> list[LineProblem]:
        """Return the lines that could not be read so far."""
        return self._lines.problems

    def read(self) -> list[Event]:
        """Return what is new; nothing while the file does not exist."""
        events: list[Event] = []
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                while data := file.read(CHUNK):
                    self._offset += len(data)
                    events += self._lines.feed(data)
        except OSError:
            return events
        return events
