"""A run that loses pace three times: `python -m tests.report.slow_run FOLDER` writes its log.

Rank 1 is slow from iteration 60 to 120, which uneven micro-batches answer; the link from rank 2 to rank 6
from 150 to 185, which another topology answers and costs more than it brings; rank 5 from 200 to the end, for
which the policy does not let the job be restarted.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

from evenpace.findings import Advice, Evidence, Finding, Severity, Subject, Terms
from evenpace.terms import say
from evenpace.watch import events as ev

START = 1_789_100_000.0
RANKS = 8
OWN, TRANSFER = 0.2, 0.04  # seconds of a healthy iteration
EVEN, UNEVEN = [8] * 8, [9, 5, 9, 9, 8, 8, 8, 8]
PLACES, MOVED = [*range(8)], [0, 1, 3, 2, 4, 5, 6, 7]


def node(rank: int) -> str:
    return f"gpu-{rank // 2:02d}"


@dataclass
class SlowRun:
    """A run being written: a clock, what is wrong, what is in force, and the events so far."""

    now: float = START
    events: list[ev.Event] = field(default_factory=list)
    factors: dict[int, float] = field(default_factory=dict)  # of slow ranks
    counts: list[int] = field(default_factory=lambda: EVEN)
    congestion: float = 0.0  # seconds an iteration
    pause: float = 0.0  # of the iteration that is under way

    def __post_init__(self) -> None:
        self.random = random.Random(5)

    def add(self, kind: type[ev.Event], **fields: object) -> None:
        self.events.append(kind(time=ev.stamp(self.now), **fields))  # type: ignore[arg-type]

    def iterate(self, number: int) -> None:
        own = [
            OWN * self.counts[r] / 8 * self.factors.get(r, 1.0) * self.random.uniform(0.99, 1.01)
            for r in range(RANKS)
        ]
        transfer, worst = TRANSFER + self.congestion, max(own)
        lasted = round(worst + transfer + self.pause, 5)
        self.now += lasted
        self.pause = 0.0
        self.add(
            ev.Iteration,
            incarnation=0,
            iteration=number,
            ranks=list(range(RANKS)),
            durations=[lasted] * RANKS,
            busy=[round(o, 5) for o in own],
            waiting=[round(worst - o, 5) for o in own],
        )

    def find(self, number: int, onset: int, finding: Finding) -> None:
        told = ev.FindingRaised(
            time=ev.stamp(self.now), incarnation=0, id=number, finding=finding, iteration=onset
        )
        self.events.append(told)

    def decide(self, finding: int, action: str, reason: str, **numbers: object) -> None:
        self.add(
            ev.Decision,
            incarnation=0,
            policy="adapt",
            action=action,
            reason=reason,
            finding=finding,
            **numbers,
        )

    def adapt(self, strategy: str, action: str, step: int, pause: float, **plan: list[int]) -> None:
        self.pause += pause
        self.add(
            ev.Adapted,
            incarnation=0,
            strategy=strategy,
            action=action,
            step=step,
            pause=pause,
            **plan,
        )


def _slow(kind: str, subject: Subject, since: str, advice: str, **details: object) -> Finding:
    link = subject.kind == "link"
    node_name = subject.node if isinstance(subject.node, str) else ", ".join(subject.node or [])
    details |= {"node": node_name}
    return Finding(
        fault="communication-slow" if link else "non-communication-slow",
        severity=Severity.WARNING,
        confidence=0.93,
        subject=subject,
        summary=say(kind, "en", **details),
        since=since,
        victims=() if link else tuple(Subject("rank", node=node(r), rank=r) for r in (0, 2, 3, 4, 6, 7)),
        evidence=(Evidence(source="iterations", metric="seconds an iteration lost", value=0.1201),),
        advice=(Advice(say(advice, "en", node=node_name)),),
        terms=Terms(symptom=("straggler",)),
        phrase=kind,
        details=details,  # type: ignore[arg-type]
    )


def _rank(rank: int) -> Subject:
    return Subject(kind="rank", node=node(rank), rank=rank, local_rank=rank % 2)


def _groups(slow: float, last: int | None, share: float) -> list[ev.GroupTime]:
    """Return two cohorts: data-parallel groups of both stages, and pairs of a pipeline."""
    quick = {"cohort": 0, "expected": 0.0402, "bytes": 33_554_432}
    pairs = [(0, 4), (1, 5), (2, 6), (3, 7)]
    found = [
        ev.GroupTime(
            group="dp [0,1,2,3]", ranks=[0, 1, 2, 3], seconds=0.0405, last=last, share_last=share, **quick
        ),
        ev.GroupTime(group="dp [4,5,6,7]", ranks=[4, 5, 6, 7], seconds=0.0399, **quick),
    ]
    return found + [
        ev.GroupTime(
            group=f"pp [{a},{b}]",
            ranks=[a, b],
            cohort=1,
            seconds=slow if (a, b) == (2, 6) else 0.0121,
            expected=0.0120,
            bytes=4_194_304,
        )
        for a, b in pairs
    ]


def _slow_worker(s: SlowRun, i: int) -> None:
    """What is said of rank 1 once iteration `i` is over."""
    costs = {"none": 0.0, "micro-batches": 0.9, "topology": 6.2, "restart": 95.0}
    rates = {"none": 0.333, "micro-batches": 0.094, "topology": 0.31, "restart": 0.0}
    if i == 63:
        details = {"rank": 1, "slowdown": 1.5, "onset": 60}
        s.find(
            1,
            60,
            _slow("slow-worker", _rank(1), ev.stamp(s.now - 1.44), "advice-compare-node", **details),
        )
        s.add(
            ev.Narrowed,
            incarnation=0,
            iteration=63,
            cause="compute",
            suspects=[1],
            groups=_groups(0.0122, 1, 0.97),
            proven=True,
            why=say("narrowed-worker", "en", rank="1", seconds=0.12),
        )
        wait = say("decision-wait", "en")
        s.decide(1, "none", wait, strategy="none", lost=0.48, costs=costs, rates=rates)
    if i == 72:
        worth = say("decision-worth", "en")
        s.decide(1, "adapt", worth, strategy="micro-batches", lost=1.56, costs=costs, rates=rates)
    if i == 74:
        s.counts = UNEVEN
        s.adapt("micro-batches", "apply", 75, 0.012, counts=UNEVEN)
    if i == 124:
        since = ev.stamp(s.now - 1.3)
        s.add(ev.FindingClosed, incarnation=0, id=1, reason="relief", since=since, iteration=120)
    if i == 126:
        back = say("decision-relieved", "en")
        s.decide(1, "revert", back, strategy="micro-batches", lost=1.2)
    if i == 127:
        s.counts = EVEN
        s.adapt("micro-batches", "revert", 128, 0.008, counts=EVEN)


def _slow_link(s: SlowRun, i: int) -> None:
    costs = {"none": 0.0, "topology": 1.2, "restart": 95.0}
    rates = {"none": 0.306, "topology": 0.107, "restart": 0.0}
    if i == 153:
        subject = Subject("link", node=[node(2), node(6)], rank=[2, 6], link="rank 2 -> rank 6")
        details = {"source": 2, "target": 6, "slowdown": 1.44, "onset": 150}
        s.find(2, 150, _slow("slow-link", subject, ev.stamp(s.now - 1.4), "advice-probe-links", **details))
        s.add(
            ev.Narrowed,
            incarnation=0,
            iteration=153,
            cause="link",
            suspects=[2, 6],
            links=[(2, 6), (6, 2)],
            groups=_groups(0.1179, 6, 0.52),
            why=say("narrowed-groups", "en", groups="pp [2,6]", seconds=0.1179, usual=0.012),
        )
        s.decide(2, "none", say("decision-wait", "en"), strategy="none", lost=0.43, costs=costs, rates=rates)
    if i == 157:
        s.pause += 0.41
        s.add(ev.Probed, incarnation=0, step=158, pause=0.41, passes=2, **_probe())
    if i == 163:
        worth = say("decision-worth", "en")
        s.decide(2, "adapt", worth, strategy="topology", lost=1.43, costs=costs, rates=rates)
    if i == 164:
        s.congestion = 0.03
        s.adapt("topology", "apply", 165, 1.1, positions=MOVED)
    if i == 188:
        s.add(ev.FindingClosed, incarnation=0, id=2, reason="relief", since=ev.stamp(s.now), iteration=185)
    if i == 189:
        back = say("decision-relieved", "en")
        s.decide(2, "revert", back, strategy="topology", lost=0.6)
        s.adapt("topology", "revert", 190, 1.04, positions=PLACES)


def _probe() -> dict[str, object]:
    pairs = [(0, 4), (4, 0), (1, 5), (5, 1), (2, 6), (6, 2), (3, 7), (7, 3)]
    return {
        "compute": [
            ev.ComputeProbe(rank=r, seconds=0.0121 + r * 2e-5, expected=0.0121) for r in range(RANKS)
        ],
        "links": [
            ev.LinkProbe(
                source=a,
                target=b,
                bytes=4 << 20,
                seconds=0.0342 if (a, b) == (2, 6) else 0.0036,
                expected=0.0035,
            )
            for a, b in pairs
        ],
        "slow_links": [(2, 6)],
    }


def _third(s: SlowRun, i: int) -> None:
    if i == 204:
        details = {"rank": 5, "slowdown": 2.25, "onset": 200}
        s.find(
            3,
            200,
            _slow("slow-worker", _rank(5), ev.stamp(s.now - 2.7), "advice-compare-node", **details),
        )
        s.add(
            ev.Narrowed,
            incarnation=0,
            iteration=204,
            cause="unclear",
            suspects=[4, 5],
            why=say("narrowed-hint", "en", rank="4, 5", lost=0.3),
        )
        s.add(
            ev.Probed,
            incarnation=0,
            step=205,
            pause=0.0,
            passes=0,
            failed=say("probing-absent", "en", ranks="3", step=205),
        )
    if i == 208:
        failed = "not in force on every rank after 60 s"
        s.add(ev.Adapted, incarnation=0, strategy="micro-batches", action="apply", step=0, failed=failed)
    if i == 212:
        worth = say("decision-worth", "en")
        numbers = {"costs": {"none": 0.0, "restart": 3.5}, "rates": {"none": 0.556, "restart": 0.0}}
        s.decide(3, "would-restart", worth, strategy="restart", lost=3.9, nodes_out=["gpu-02"], **numbers)


def slow_run() -> list[ev.Event]:
    """Return the events of the run."""
    s = SlowRun()
    _begin(s)
    for i in range(220):
        s.factors = {1: 1.6} if 60 <= i < 120 else {5: 2.5} if i >= 200 else {}
        if i in (150, 185):
            s.congestion = 0.11 if i == 150 else 0.0
        s.iterate(i)
        _slow_worker(s, i)
        _slow_link(s, i)
        _third(s, i)
    s.add(ev.FindingClosed, incarnation=0, id=3, reason="ended", since=ev.stamp(s.now))
    for rank in range(RANKS):
        s.add(ev.WorkerExited, incarnation=0, rank=rank, node=node(rank), pid=700 + rank, how="clean")
    s.add(ev.IncarnationEnded, incarnation=0, outcome="finished", exit_code=0)
    s.add(ev.RunEnded, outcome="finished", exit_code=0)
    return s.events


def _begin(s: SlowRun) -> None:
    nodes = [f"gpu-{i:02d}" for i in range(4)]
    s.add(
        ev.RunStarted,
        run="20260911-031320-slow",
        version="0.2.0",
        host="login1",
        command=["torchrun", "--nproc-per-node", "2", "train.py"],
        policy="adapt",
        nodes=nodes,
        restarts=3,
        max_nodes_out=1,
    )
    agents = {name: 600 + i for i, name in enumerate(nodes)}
    s.add(ev.IncarnationStarted, incarnation=0, agents=agents, rings="rings/0")
    s.now += 4.0
    for rank in range(RANKS):
        s.add(
            ev.WorkerJoined,
            incarnation=0,
            rank=rank,
            local_rank=rank % 2,
            world_size=RANKS,
            node=node(rank),
            pid=700 + rank,
            tap="native",
        )


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.jsonl").write_bytes(b"".join(ev.encode(event) + b"\n" for event in slow_run()))
