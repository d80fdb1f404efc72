"""Follow the events of a run that another process writes, and wait for what is to come."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from evenpace.errors import Problem
from evenpace.watch.events import Event, decode

Found = TypeVar("Found", bound=Event)
POLL = 0.1  # seconds


class Late(Problem):
    """Say that something did not happen in time."""

    exit_code = 1


class Follower:
    """Read `events.jsonl` as it grows; `alive` tells whether the run's process still writes."""

    def __init__(
        self,
        path: Path,
        alive: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.path, self.alive, self.clock, self.sleep = path, alive, clock, sleep
        self.events: list[Event] = []
        self._offset = 0

    def read(self) -> None:
        """Take in the lines that are new and whole; lines of a kind that we do not know are passed over."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._offset)
            whole, newline, _ = file.read().rpartition(b"\n")
        self._offset += len(whole) + len(newline)
        for line in whole.splitlines():
            try:
                self.events.append(decode(line))
            except msgspec.DecodeError:
                continue

    def wait(
        self, kind: type[Found], what: str, deadline: float, fits: Callable[[Found], bool] = lambda _: True
    ) -> Found:
        """Return the first `kind` of event that fits; raises Late after `deadline` seconds or the end."""
        end = self.clock() + deadline
        while True:
            alive = self.alive()
            self.read()
            for event in self.events:
                if isinstance(event, kind) and fits(event):
                    return event
            if not alive:
                raise Late(f"the run ended before {what}; its events: {self.path}")
            if self.clock() > end:
                raise Late(f"{what} did not come within {deadline:.0f} s; the run's events: {self.path}")
            self.sleep(POLL)
