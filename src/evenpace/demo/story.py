"""Play the demo: train under watch, slow one node, later hang another."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from evenpace import faults
from evenpace.demo import training
from evenpace.demo.follow import Follower
from evenpace.faults import ledger
from evenpace.faults.target import aim
from evenpace.terms import say
from evenpace.watch.events import (
    Event,
    FindingClosed,
    FindingRaised,
    IncarnationStarted,
    Iteration,
    PeriodFound,
    RunEnded,
    WorkerJoined,
    seconds,
)

HEALTHY = 40  # iterations before the first fault
BETWEEN = 15  # iterations before the next thing happens
FACTOR = 4.0


@dataclass(frozen=True, slots=True)
class Injected:
    """What was done to which worker."""

    fault: faults.Fault
    rank: int
    node: str
    time: float  # epoch seconds


@dataclass
class Story:
    """The demo as it goes; `tell` prints a line."""

    folder: Path
    lang: str
    tell: Callable[[str], None]
    injected: list[Injected] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def say(self, key: str, **details: object) -> None:
        """Tell a sentence, with the time since the demo began."""
        self.tell(f"[{time.monotonic() - self.began:4.0f} s] {say(key, self.lang, **details)}")

    def play(self) -> list[Event]:
        """Run the training through both faults to its end; return the events. Raises Late."""
        self.say("demo-start", steps=training.STEPS, nodes=training.NODES)
        with _running(training.watched(self.folder, self.lang), self.folder / "said.txt") as process:
            run = Follower(self.folder / "events.jsonl", lambda: process.poll() is None)
            run.wait(WorkerJoined, "the first worker", 90)
            self.say("demo-joined")
            period = run.wait(PeriodFound, "the iteration", 60)
            self.say("demo-period", operations=period.operations)
            self._healthy(run, HEALTHY)
            first, second = random.SystemRandom().sample(range(training.NODES), 2)
            self._slow(run, first)
            self._hang(run, second)
            ended = run.wait(RunEnded, "the end of the training", 180)
            self.say("demo-ended", outcome=ended.outcome)
            process.wait()
        return run.events

    def _slow(self, run: Follower, rank: int) -> None:
        """Slow a worker until evenpace has said so, and some iterations more; wait for the relief."""
        with self._inject(run, "slow", rank):
            raised = self._hear(run, 60)
            self._healthy(run, BETWEEN)
        self.say("demo-relieved", node=self.injected[-1].node)
        closed = run.wait(FindingClosed, "the relief", 60, lambda event: event.id == raised.id)
        self.say("demo-closed", reason=closed.reason)
        self._healthy(run, BETWEEN)

    def _hang(self, run: Follower, rank: int) -> None:
        """Stop a worker; wait until the job goes on without its node."""
        with self._inject(run, "hang-stopped", rank):
            self._hear(run, 60)
            again = run.wait(IncarnationStarted, "the restart", 60, lambda event: event.incarnation == 1)
        self.say("demo-restarted", step=again.step if again.step is not None else "?")
        run.wait(
            Iteration, "the first iteration after the restart", 120, lambda event: event.incarnation == 1
        )
        self.say("demo-going-on")

    @contextmanager
    def _inject(self, run: Follower, name: str, rank: int) -> Iterator[None]:
        worker = run.wait(WorkerJoined, f"rank {rank}", 10, lambda event: event.rank == rank)
        fault = faults.find(name)
        with fault.inject(aim(worker.pid, FACTOR)):
            self.injected.append(Injected(fault, rank, worker.node, time.time()))
            ledger.enter(self.folder, name, rank)
            self.say(f"demo-inject-{name}", node=worker.node, rank=rank, factor=f"{FACTOR:g}")
            yield

    def _hear(self, run: Follower, deadline: float) -> FindingRaised:
        """Wait for what evenpace says about the latest fault."""
        latest = self.injected[-1]
        raised = run.wait(
            FindingRaised,
            f"a finding about {latest.node}",
            deadline,
            lambda event: seconds(event.time) > latest.time and event.finding.fault in latest.fault.slugs,
        )
        self.say(
            "demo-says", summary=raised.finding.summary, after=f"{seconds(raised.time) - latest.time:.1f}"
        )
        return raised

    def _healthy(self, run: Follower, count: int) -> None:
        """Wait until the job has made so many more iterations."""
        run.read()
        goal = sum(isinstance(event, Iteration) for event in run.events) + count
        run.wait(
            Iteration,
            f"{count} more iterations",
            120,
            lambda _: sum(isinstance(event, Iteration) for event in run.events) >= goal,
        )


@contextmanager
def _running(command: list[str], said: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run evenpace; whatever happens, also a signal to us, it has ended its job and itself afterwards."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    process = training.start(command, said)
    try:
        yield process
    finally:
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGKILL):
            if process.poll() is None:
                process.send_signal(number)
                _give_time(process)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _give_time(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        return
