"""Synthetic runs: logs like those of real ones, from a seed. `python conftest.py FOLDER` writes them out."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.report.slow_run import slow_run

from evenpace.findings import Advice, Evidence, Finding, Severity, Subject, Terms
from evenpace.terms import say
from evenpace.watch import events as ev

SLOW = ("non-communication-slow", "slow-worker")
HANG = ("non-communication-hang", "hang-outside")
START = 1_789_000_000.0


@dataclass
class Script:
    """A run being written: a clock, and the events so far."""

    seed: int = 7
    now: float = START
    events: list[ev.Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    @property
    def time(self) -> str:
        return ev.stamp(self.now)

    def add(self, kind: type[ev.Event], **fields: object) -> None:
        self.events.append(kind(time=self.time, **fields))  # type: ignore[arg-type]

    def start(self, incarnation: int, nodes: list[str], step: int | None, pids: int = 4000) -> None:
        checkpoint = None if step is None else f"checkpoints/step-{step:06d}"
        self.add(
            ev.IncarnationStarted,
            incarnation=incarnation,
            agents={node: pids + i for i, node in enumerate(nodes)},
            rings=f"rings/{incarnation}",
            checkpoint=checkpoint,
            step=step,
        )
        self.now += 4.2
        for rank, node in enumerate(nodes):
            self.add(
                ev.WorkerJoined,
                incarnation=incarnation,
                rank=rank,
                local_rank=0,
                world_size=len(nodes),
                node=node,
                pid=pids + 100 + rank,
                tap="native",
            )
        self.now += 1.1
        kinds = {"allreduce": 14, "broadcast": 1}
        self.add(ev.PeriodFound, incarnation=incarnation, rank=0, operations=15, kinds=kinds)

    def iterate(
        self, incarnation: int, number: int, ranks: int, slow: dict[int, float], base: float = 0.25
    ) -> None:
        """One iteration in which the ranks of `slow` take that many times their own time."""
        own = [base * 0.8 * slow.get(r, 1.0) * self.random.uniform(0.97, 1.03) for r in range(ranks)]
        transfer = base * 0.16
        worst = max(own)
        self.now += worst + transfer
        self.add(
            ev.Iteration,
            incarnation=incarnation,
            iteration=number,
            ranks=list(range(ranks)),
            durations=[round(worst + transfer, 5)] * ranks,
            busy=[round(o, 5) for o in own],
            waiting=[round(worst - o, 5) for o in own],
        )


def _finding(
    kind: tuple[str, str], rank: int, node: str, since: str, ranks: int = 4, **details: object
) -> Finding:
    fault, phrase = kind
    values = {"rank": rank, "node": node, **details}
    command = f"ssh {node} nvidia-smi -q -d CLOCK,TEMPERATURE"
    return Finding(
        fault=fault,
        severity=Severity.CRITICAL if "hang" in fault else Severity.WARNING,
        confidence=0.97,
        subject=Subject(kind="rank", node=node, rank=rank, local_rank=0),
        summary=say(phrase, "en", **values),
        since=since,
        victims=tuple(Subject(kind="rank", node=f"node{r}", rank=r) for r in range(ranks) if r != rank),
        evidence=(
            Evidence(source="ring", metric="busy", value=0.3612, expected=0.2004),
            Evidence(source=f"logs/0/{node}.log", line=118, text='  File "train.py", line 88, in forward'),
        ),
        advice=(
            Advice(say("advice-compare-node", "en", **values), command),
            Advice(say("advice-exclude-node", "en", **values)),
        ),
        missing=(say("missing-longer", "en", **values),),
        terms=Terms(symptom=("slow-iteration",)),
        phrase=phrase,
        details=values,  # type: ignore[arg-type]
    )


def four_nodes() -> list[ev.Event]:
    """Four nodes and a spare: node1 slows and recovers, node2 hangs, the spare takes over."""
    s = Script()
    nodes = [f"node{i}" for i in range(4)]
    s.add(
        ev.RunStarted,
        run="20260909-232640-demo",
        version="0.1.0",
        host="login1",
        command=["torchrun", "--nproc-per-node", "1", "examples/gpt.py", "--steps", "300"],
        policy="restart",
        nodes=nodes,
        spares=["node4"],
        checkpoint_dir="checkpoints",
        restarts=3,
        max_nodes_out=1,
    )
    s.start(0, nodes, None)
    _slow_spell(s)
    _hang(s)
    s.add(
        ev.CheckpointSkipped,
        path="checkpoints/step-000200",
        reason="rank2.pt: 1,048,576 bytes where the manifest says 4,194,304",
        moved_to="checkpoints/step-000200.damaged",
    )
    s.add(ev.IncarnationEnded, incarnation=0, outcome="stopped", exit_code=None)
    s.now += 0.4
    s.start(1, ["node0", "node1", "node4", "node3"], 150, pids=5000)
    for i in range(150):
        s.iterate(1, i, 4, {})
    _finish(s, 1, ["node0", "node1", "node4", "node3"])
    return s.events


def _slow_spell(s: Script) -> None:
    for i in range(212):
        if i == 80:
            onset = s.time
        s.iterate(0, i, 4, {1: 1.8} if 80 <= i < 150 else {})
        if i == 84:
            details = {"slowdown": 1.63, "onset": 80}
            finding = _finding(SLOW, 1, "node1", onset, **details)
            s.add(ev.FindingRaised, incarnation=0, id=1, finding=finding, iteration=80)
            reason = say("decision-slow", "en")
            s.add(ev.Decision, incarnation=0, policy="restart", action="none", reason=reason, finding=1)
        if i == 153:
            s.add(ev.FindingClosed, incarnation=0, id=1, reason="relief", since=s.time, iteration=150)


def _hang(s: Script) -> None:
    since = s.time
    s.now += 6.3
    details = {"operation": "all_reduce", "seconds": 6.0}
    finding = _finding(HANG, 2, "node2", since, **details)
    s.add(ev.FindingRaised, incarnation=0, id=2, finding=finding, iteration=212)
    s.now += 0.1
    s.add(
        ev.Decision,
        incarnation=0,
        policy="restart",
        action="restart",
        reason=say("decision-replace", "en", nodes="node2", spares="node4"),
        finding=2,
        nodes_out=["node2"],
        nodes_in=["node4"],
        checkpoint="checkpoints/step-000150",
        step=150,
    )
    s.add(ev.FindingClosed, incarnation=0, id=2, reason="restart", since=s.time)


def _finish(s: Script, incarnation: int, nodes: list[str]) -> None:
    s.now += 0.5
    for rank, node in enumerate(nodes):
        s.add(ev.WorkerExited, incarnation=incarnation, rank=rank, node=node, pid=5100 + rank, how="clean")
    s.add(ev.IncarnationEnded, incarnation=incarnation, outcome="finished", exit_code=0)
    s.add(ev.RunEnded, outcome="finished", exit_code=0)


def many_workers(iterations: int = 2000, ranks: int = 64) -> list[ev.Event]:
    """A larger run without a spare: rank 37 is slow for a third of it, only observed; still running."""
    s = Script(seed=11)
    nodes = [f"gpu-{i // 8:03d}" for i in range(ranks)]
    s.add(
        ev.RunStarted,
        run="big",
        version="0.1.0",
        host="login1",
        command=["torchrun", "train.py"],
        policy="observe",
    )
    s.start(0, nodes, None)
    for i in range(iterations):
        if i == iterations // 3:
            onset = s.time
        slow = {37: 1.45} if iterations // 3 <= i < 2 * iterations // 3 else {}
        s.iterate(0, i, ranks, {0: 8.0} if i % 500 == 499 else slow)
        if i == iterations // 3 + 4:
            details = {"slowdown": 1.36, "onset": iterations // 3}
            finding = _finding(SLOW, 37, "gpu-004", onset, ranks, **details)
            s.add(ev.FindingRaised, incarnation=0, id=1, finding=finding, iteration=iterations // 3)
    return s.events


@pytest.fixture(scope="session")
def demo() -> list[ev.Event]:
    """Return the run of four nodes."""
    return four_nodes()


@pytest.fixture(scope="session")
def big() -> list[ev.Event]:
    """Return the run of 64 workers and 2,000 iterations."""
    return many_workers()


@pytest.fixture(scope="session")
def slow() -> list[ev.Event]:
    """Return the run that loses pace three times."""
    return slow_run()


@pytest.fixture
def write_log(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes the log of a run into a new folder, and returns the folder."""

    def write(events: Iterable[ev.Event], name: str = "run") -> Path:
        return write_run(events, tmp_path / name)

    return write


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Return a check against a file of `golden/`; where there is none yet it is written, to be looked at."""

    def check(name: str, text: str) -> None:
        path = Path(__file__).parent / "golden" / name
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            pytest.fail(f"{path} was missing and is written; look at it, then keep it")
        assert text == path.read_text(encoding="utf-8"), f"delete {path} to have it written anew"

    return check


def write_run(events: Iterable[ev.Event], folder: Path) -> Path:
    """Write the log of a run into `folder`, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.jsonl").write_bytes(b"".join(ev.encode(event) + b"\n" for event in events))
    return folder


if __name__ == "__main__":
    write_run(four_nodes(), Path(sys.argv[1]) / "demo")
    write_run(many_workers(), Path(sys.argv[1]) / "big")


@pytest.fixture(autouse=True)
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the incident library out: golden reports must not change with every new case."""
    monkeypatch.setattr("evenpace.report.incidents._library", lambda: None)
