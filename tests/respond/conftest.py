"""Fakes for the supervisor: a torchrun of a few lines of shell, a watcher that says what a test wants."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from evenpace.findings import Finding, Severity, Subject
from evenpace.respond.clock import Clock
from evenpace.respond.interrupts import Interrupts
from evenpace.respond.launchers.local import LocalLauncher
from evenpace.respond.launchers.processes import kill_all, members
from evenpace.respond.mitigation.probes import Prober
from evenpace.respond.parts import Parts
from evenpace.respond.recorder import Recorder
from evenpace.respond.supervisor import Supervisor
from evenpace.watch.eventlog import EventWriter, read_events
from evenpace.watch.events import Event, FindingRaised, RunStarted, stamp
from evenpace.watch.runfolder import RunFolder

NOW = "2026-01-02T03:04:05.000Z"


@pytest.fixture
def finding() -> Callable[..., Finding]:
    """Return a maker of critical findings about a node (None: about the job)."""

    def make(
        fault: str = "worker-killed",
        node: str | list[str] | None = "node1",
        confidence: float = 0.95,
        severity: Severity = Severity.CRITICAL,
    ) -> Finding:
        subject = Subject(kind="rank" if node else "job", node=node, rank=1 if node else None)
        return Finding(fault, severity, confidence, subject, f"{fault} on {node}")

    return make


class TapEnvironment(NamedTuple):
    env: dict[str, str]
    note: str


def tap(
    ring_dir: Path, node: str, run: str, incarnation: int, base: Mapping[str, str], kind: str = "auto"
) -> TapEnvironment:
    note = os.environ.get("FAKE_TAP_NOTE", "")
    return TapEnvironment({**base, "EVENPACE_TAP": "python" if note else "native"}, note)


def prober(incarnation: int, rings: Mapping[int, Path], nodes: Mapping[int, str]) -> Prober:
    raise AssertionError("nothing is measured here")


@dataclass
class FakeWatcher:
    """Say, per incarnation, what a script of (agent exits so far -> finding) holds."""

    incarnation: int
    rings: Path
    logs: dict[str, Path]
    say: Callable[[FakeWatcher], list[Event]]
    exits: dict[str, int | None] = field(default_factory=dict)
    told: bool = False

    def poll(self) -> list[Event]:
        return self.say(self)

    def agent_exited(self, node: str, exit_code: int | None) -> None:
        self.exits[node] = exit_code

    def settled(self) -> bool:
        return True

    def once(self, *findings: Finding, iteration: int | None = None) -> list[Event]:
        if self.told:
            return []
        self.told = True
        return [
            FindingRaised(
                time=stamp(time.time()),
                incarnation=self.incarnation,
                id=number,
                finding=one,
                iteration=iteration,
            )
            for number, one in enumerate(findings)
        ]


def nothing(watcher: FakeWatcher) -> list[Event]:
    return []


@dataclass
class Run:
    """One supervised job of a test."""

    folder: RunFolder
    supervisor: Supervisor
    recorder: Recorder

    def events(self, kind: type[Event] = Event) -> list[Event]:
        return [event for event in read_events(self.folder.events) if isinstance(event, kind)]


@pytest.fixture
def torchrun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that installs a shell script as `torchrun` on the PATH."""
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")

    def install(script: str) -> None:
        program = place / "torchrun"
        program.write_text(f"#!/bin/bash\n{script}\n")
        program.chmod(0o755)

    return install


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Return a maker of supervised jobs; whatever a job left behind is killed at the end."""
    writers: list[EventWriter] = []
    folder = RunFolder.create(tmp_path / "run")

    def make(
        command: list[str],
        say: Callable[[FakeWatcher], list[Event]] = nothing,
        *,
        interrupts: Interrupts | None = None,
        **job: object,
    ) -> Run:
        writer = EventWriter(folder.events, print)
        writers.append(writer)
        recorder = Recorder(writer)
        nodes = job.get("nodes", [])
        started = RunStarted(
            time=NOW, run="run", version="0", host="here", command=command, **{"policy": "observe", **job}
        )
        launcher = LocalLauncher(command, str(folder.path), emulate=bool(nodes))
        clock = Clock(sleep=lambda seconds: time.sleep(min(seconds, 0.02)))
        parts = Parts(
            folder=folder,
            launcher=launcher,
            recorder=recorder,
            watch=lambda number, rings, logs: FakeWatcher(number, rings, logs, say),
            tap=tap,
            interrupts=interrupts or Interrupts(),
            prober=prober,
            clock=clock,
        )
        return Run(folder, Supervisor(started, parts), recorder)

    yield make
    for writer in writers:
        writer.close()
    kill_all(lambda: members(str(folder.path)), time.sleep)
