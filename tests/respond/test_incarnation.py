from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenpace.respond.clock import Clock
from evenpace.respond.incarnation import Incarnation
from evenpace.respond.launchers import AgentExit
from evenpace.respond.parts import Parts
from evenpace.respond.recorder import Recorder
from evenpace.watch.eventlog import EventWriter
from evenpace.watch.events import Event, WorkerExited

T = "2026-01-02T03:04:05.000Z"


class Adopted:
    """Stand in for a launcher and a watcher: one agent ended with a code that nobody can know."""

    def __init__(self, *ends: Event) -> None:
        self.ends = list(ends)

    def __call__(self, *_: object) -> Any:
        watcher = Adopted()
        watcher.poll = lambda: self.ends  # type: ignore[method-assign]
        return watcher

    def poll(self) -> list[Any]:
        return [AgentExit("here", None)]

    def agent_exited(self, node: str, code: int | None) -> None:
        """Ignore it."""


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    writer = EventWriter(tmp_path / "log", print)
    yield Recorder(writer)
    writer.close()


@pytest.mark.parametrize(("how", "code", "left"), [("clean", 3, 1), ("clean", 0, 0), ("exception", None, 1)])
def test_how_an_adopted_agent_ended_is_told_by_its_workers(
    tmp_path: Path, recorder: Recorder, how: str, code: int | None, left: int
) -> None:
    end = WorkerExited(time=T, incarnation=0, rank=0, node="here", pid=9, how=how, code=code)
    adopted: Any = Adopted(end)
    nothing: Any = None
    parts = Parts(nothing, adopted, recorder, adopted, nothing, nothing, nothing, clock=Clock())
    incarnation = Incarnation(0, {"here": tmp_path / "here.log"}, tmp_path, adopted, parts)
    incarnation.look()
    assert incarnation.ended
    assert incarnation.exit_code == left
