"""A run as the mitigation sees it: rings that a test writes like a loop, events, and a clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evenpace.findings import Evidence, Finding, Severity, Subject
from evenpace.respond.clock import Clock
from evenpace.respond.judging import Act
from evenpace.respond.mitigation.mitigation import EVERY, Mitigation
from evenpace.respond.parts import Parts
from evenpace.respond.probing import ProbeRequest
from evenpace.respond.recorder import Recorder
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.tap.inject.evenpace_tap.ring import Ring
from evenpace.watch.eventlog import EventWriter
from evenpace.watch.events import (
    Adapted,
    Decision,
    Event,
    FindingClosed,
    FindingRaised,
    IncarnationStarted,
    Iteration,
    Probed,
    RunStarted,
    WorkerJoined,
    stamp,
)

RANKS = 4
TOTAL = 16  # micro-batches
EACH = 0.02  # seconds of a micro-batch
STARTING = 20.0  # seconds until the first iteration
HEALTHY = 0.1  # seconds of an iteration


@dataclass
class FakeProber:
    """Measure what a test says; the answer is there at the next look."""

    answer: Probed | None = None
    asked: list[ProbeRequest] = field(default_factory=list)
    running: bool = False
    cancelled: int = 0

    @property
    def busy(self) -> bool:
        return self.running

    def start(self, request: ProbeRequest) -> bool:
        self.asked.append(request)
        self.running = True
        return True

    def poll(self) -> Probed | None:
        answer, self.answer = self.answer, None
        self.running = self.running and answer is None
        return answer

    def cancel(self) -> None:
        self.cancelled += 1


@dataclass
class Run:
    """One job under mitigation; `seconds` is the time, wall and monotonic alike."""

    folder: Path
    policy: str
    per_node: int = 1  # ranks
    prober: FakeProber = field(default_factory=FakeProber)
    heard: list[Event] = field(default_factory=list)
    seconds: float = 1_000.0
    iteration: int = 0
    rings: dict[int, Ring] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.writer = EventWriter(self.folder / "events.jsonl", print)
        self.recorder = Recorder(self.writer, [self.heard.append])
        clock = Clock(lambda: self.seconds, lambda: self.seconds, lambda _: None)
        none: Any = None
        parts = Parts(none, none, self.recorder, none, none, none, self._make, clock=clock)
        self.mitigation = Mitigation(parts, parts.prober)
        self.recorder.listen(self.mitigation.hear)

    def _make(self, incarnation: int, rings: Mapping[int, Path], nodes: Mapping[int, str]) -> FakeProber:
        assert sorted(rings) == list(range(RANKS))
        return self.prober

    def start(self, incarnation: int = 0, **job: Any) -> None:
        """Begin an incarnation, with its workers and their rings."""
        if incarnation == 0:
            settings = {"restarts": 3, "max_nodes_out": 1, "min_nodes": 1, **job}
            nodes = sorted({self.node(rank) for rank in range(RANKS)})
            self._write(RunStarted, run="r", version="0", host="h", command=["x"], policy=self.policy,
                        nodes=nodes, spares=["spare0"], **settings)  # fmt: skip
        self._began(incarnation)

    def node(self, rank: int) -> str:
        return f"node{rank // self.per_node}"

    def _began(self, incarnation: int) -> None:
        folder = self.folder / f"rings{incarnation}"
        folder.mkdir()
        self._write(IncarnationStarted, incarnation=incarnation, agents={}, rings=str(folder))
        for rank in range(RANKS):
            self.rings[rank] = Ring(
                str(folder / f"{self.node(rank)}.{rank}.ring"), self.node(rank), layout.TAP_PYTHON
            )
            self._write(WorkerJoined, incarnation=incarnation, rank=rank, local_rank=0, world_size=RANKS,
                        node=self.node(rank), pid=rank, tap="python")  # fmt: skip
        self.seconds += STARTING

    def _write(self, kind: type[Event], **fields: Any) -> None:
        self.recorder.write(kind(time=stamp(self.seconds), **fields))

    def offer(self, said: object | None = None) -> None:
        """Let the loop of rank 0 offer to split its micro-batches."""
        usual = {"microbatches": {"total": TOTAL, "replicas": [[rank] for rank in range(RANKS)]}}
        path = Path(self.rings[0].path).with_suffix(layout.OFFER_SUFFIX)
        path.write_text(json.dumps(usual if said is None else said))

    def measure(self, factors: Mapping[int, float], counts: list[int] | None = None) -> None:
        """Let the loop measure its micro-batches."""
        for rank, ring in self.rings.items():
            count = (counts or [TOTAL // RANKS] * RANKS)[rank]
            ring.set(micro_batches=count, micro_batch_ns=int(EACH * factors.get(rank, 1.0) * 1e9))

    def measured_in_health(self) -> None:
        """Let the first measurement be over."""
        self.prober.answer = Probed(time=stamp(self.seconds), incarnation=0, step=1, pause=2.0, passes=0)
        self.look(2)
        self.prober.asked.clear()

    def iterate(self, count: int, duration: float, busy: Mapping[int, float] | None = None) -> None:
        """Let the job make iterations."""
        for _ in range(count):
            own = [(busy or {}).get(rank, HEALTHY * 0.8) for rank in range(RANKS)]
            self._write(Iteration, incarnation=0, iteration=self.iteration, ranks=list(range(RANKS)),
                        durations=[duration] * RANKS, busy=own, waiting=[0.0] * RANKS)  # fmt: skip
            self.iteration += 1
            self.seconds += duration

    def raise_finding(self, rank: int | None = 2, onset: int | None = None, **fields: Any) -> None:
        """Say that a rank (None: nobody known) is slow."""
        slug = "non-communication-slow" if rank is not None else "slow-throughput"
        subject = Subject(kind="rank", node=f"node{rank}", rank=rank) if rank is not None else Subject("job")
        lost = Evidence(source="iterations", metric="seconds an iteration lost", value=0.05)
        said = {
            "phrase": "slow-worker" if rank is not None else "slow-unclear",
            "evidence": (lost,),
            **fields,
        }
        confidence = said.pop("confidence", 0.95)
        subject = said.pop("subject", subject)
        slug, subject = said.pop("fault", slug), said.pop("subject", subject)
        finding = Finding(slug, Severity.WARNING, confidence, subject, "slow", **said)
        self._write(FindingRaised, incarnation=0, id=self.recorder.ledger.last_id + 1, finding=finding,
                    iteration=self.iteration if onset is None else onset)  # fmt: skip

    def close_finding(self) -> None:
        """Say that the job is well again."""
        number = max(self.recorder.ledger.open)
        self._write(FindingClosed, incarnation=0, id=number, reason="relief", since=stamp(self.seconds))

    def look(self, times: int = 1) -> Act | None:
        """Let the mitigation look; return the last thing that it wants done."""
        act = None
        for _ in range(times):
            self.seconds += EVERY
            act = self.mitigation.look()
        return act

    def plan(self) -> dict[str, Any] | None:
        """Return the plan that was announced last."""
        path = Path(self.rings[0].path).with_suffix(layout.PLAN_SUFFIX)
        return json.loads(path.read_text()) if path.exists() else None

    def obey(self, pause: float = 0.0) -> None:
        """Let the loop put the announced plan in force on all ranks."""
        plan = self.plan()
        assert plan is not None
        for ring in self.rings.values():
            ring.set(plan_version=plan["version"], plan_step=self.iteration, plan_pause_ns=int(pause * 1e9))

    def decisions(self) -> list[tuple[str, str]]:
        """Return what was decided: action and strategy."""
        return [(one.action, one.strategy) for one in self.heard if isinstance(one, Decision)]

    def adapted(self) -> list[tuple[str, str, bool]]:
        """Return what took effect: strategy, action, and whether it did."""
        return [(one.strategy, one.action, not one.failed) for one in self.heard if isinstance(one, Adapted)]


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Return a maker of runs under a policy."""
    made: list[Run] = []

    def make(policy: str = "adapt", per_node: int = 1, **settings: Any) -> Run:
        run = Run(tmp_path, policy, per_node)
        made.append(run)
        run.start(**settings)
        return run

    yield make
    for run in made:
        run.writer.close()
