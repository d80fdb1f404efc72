"""The cases of the fault bench: cause a fault in a watched training, compare what was said with it."""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass

from watched import RANKS, Watched

from evenpace import faults
from evenpace.errors import Problem
from evenpace.faults import Fault, ledger, planted
from evenpace.faults.target import aim
from evenpace.findings import Finding
from evenpace.watch.events import FindingClosed, PeriodFound, RunEnded, seconds

SCRIPTS = {"ddp": "train_ddp.py", "fsdp2": "train_fsdp2.py", "pipeline": "train_pipeline.py"}
ARGUMENTS = ["--steps=3000", "--read-ms=30"]
GIVE_UP = 25.0  # seconds after the injection
LINGER = 2.0  # seconds after the right answer, for a wrong one to follow
# For a job 1.3 to 3 times slower. The larger part of DDP's iteration is a sleep, which no fault prolongs.
FACTORS = {"slow": {"ddp": 3.5, "fsdp2": 2.0, "pipeline": 1.7}, "cpu-contention": {"ddp": 2.5}}
STEPS = 150  # of a healthy run
BASELINE = 25  # iterations between two faults of one training


@dataclass(frozen=True)
class Result:
    """What came of one fault. `iterations` (until named) and `ratio` (of pace) only where the job went on."""

    fault: str
    layout: str
    rank: int
    right: bool = False
    innocent: bool = False
    seconds: float | None = None
    iterations: int | None = None
    ratio: float | None = None
    said: str = ""


def once(name: str, layout: str, seed: int) -> Result:
    """Cause one fault in a training of its own."""
    chance = random.Random(f"{name} {layout} {seed}")  # noqa: S311  victims, not secrets
    rank, step = chance.randrange(RANKS), chance.randint(60, 90)
    fault = faults.find(name)
    environment = planted.environment(planted.Spec(name, rank, step), os.environ) if fault.planted else {}
    try:
        with Watched(SCRIPTS[layout], ARGUMENTS, environment) as training:
            training.run.wait(PeriodFound, "the iteration", 60)
            if fault.planted:
                return listen(training, fault, layout, rank, planted_at(training))
            training.more_iterations(step - 50)
            with fault.inject(aim(training.worker(rank).pid, factor(name, layout))):
                return listen(training, fault, layout, rank, time.time())
    except Problem as problem:
        return Result(name, layout, rank, said=str(problem))


def factor(name: str, layout: str) -> float:
    """Return how strong a fault is made."""
    return FACTORS.get(name, {}).get(layout, 2.0)


def planted_at(training: Watched) -> float:
    """Wait until the fault in the worker has happened; return when, in epoch seconds."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for entry in ledger.read(training.folder):
            return float(str(entry["time"]))
        if training.process.poll() is not None:
            break
        time.sleep(0.05)
    raise Problem("the planted fault did not happen")


def listen(training: Watched, fault: Fault, layout: str, rank: int, began: float) -> Result:
    """Wait for the right answer, a little longer for a wrong one, and judge."""
    end = time.time() + GIVE_UP
    while time.time() < end and not answers(training, fault, rank, began):
        if training.process.poll() is not None:
            break
        time.sleep(0.1)
    training.pause(LINGER)
    return judge(training, fault, layout, rank, began)


def answers(training: Watched, fault: Fault, rank: int, began: float) -> list[float]:
    """Return when the right thing was said, in epoch seconds."""
    return [
        seconds(event.time)
        for event in training.findings(began)
        if event.finding.fault in fault.slugs and named(event.finding) == ({rank} if fault.culprit else set())
    ]


def named(finding: Finding) -> set[int]:
    """Return the ranks that a finding accuses, by rank or by (emulated) node."""
    ranks, nodes = finding.subject.rank, finding.subject.node
    accused = set() if ranks is None else {ranks} if isinstance(ranks, int) else set(ranks)
    names = [] if nodes is None else [nodes] if isinstance(nodes, str) else nodes
    return accused | {int(name.removeprefix("node")) for name in names}


def judge(training: Watched, fault: Fault, layout: str, rank: int, began: float) -> Result:
    """Compare all that was said since `began` with the truth."""
    said = training.findings(began)
    right = answers(training, fault, rank, began)
    allowed = {rank} if fault.culprit else set()
    last = {event.id: event.finding for event in said}
    before, after = pace(training, began)
    return Result(
        fault.name,
        layout,
        rank,
        right=bool(right)
        and any(named(one) == allowed and one.fault in fault.slugs for one in last.values()),
        innocent=any(named(event.finding) - allowed for event in said),
        seconds=right[0] - began if right else None,
        iterations=iterations_until(training, began, right[0]) if right and after else None,
        ratio=statistics.median(after) / statistics.median(before) if before and after else None,
        said="; ".join(one.summary for one in last.values()) or "nothing",
    )


def pace(training: Watched, began: float) -> tuple[list[float], list[float]]:
    """Return the durations of the iterations before and after a moment."""
    before, after = [], []
    for event in training.iterations():
        duration, start = max(event.durations), seconds(event.time)
        if start + duration < began:
            before.append(duration)
        elif start > began:
            after.append(duration)
    return before[-BASELINE:], after


def iterations_until(training: Watched, began: float, told: float) -> int:
    """Count the iterations that began after the fault and ended before it was told."""
    spans = [(seconds(event.time), max(event.durations)) for event in training.iterations()]
    return sum(start > began and start + duration <= told for start, duration in spans)


def in_turn(name: str, layout: str, seeds: list[int]) -> Iterator[Result]:
    """Cause a fault that can be reverted in one training, victim after victim; where needed in another."""
    while seeds:
        try:
            with Watched(SCRIPTS[layout], ARGUMENTS) as training:
                training.run.wait(PeriodFound, "the iteration", 60)
                relieved = True
                while seeds and relieved:
                    result, relieved = one_turn(training, name, layout, seeds.pop(0))
                    yield result
        except Problem as problem:
            yield Result(name, layout, -1, said=str(problem))


def one_turn(training: Watched, name: str, layout: str, seed: int) -> tuple[Result, bool]:
    """Cause and revert the fault once; also tell whether evenpace saw that it was over."""
    chance = random.Random(f"{name} {layout} {seed}")  # noqa: S311  victims, not secrets
    rank = chance.randrange(RANKS)
    fault = faults.find(name)
    training.more_iterations(BASELINE + chance.randint(0, 15))
    with fault.inject(aim(training.worker(rank).pid, factor(name, layout))):
        result = listen(training, fault, layout, rank, time.time())
    try:
        for number in {event.id for event in training.findings(time.time() - GIVE_UP)}:
            training.run.wait(FindingClosed, "the relief", 20, lambda event, n=number: event.id == n)  # type: ignore[misc]
    except Problem:
        return result, False
    return result, True


def healthy(layout: str, seed: int) -> Result:
    """Train in good health, with checkpoints and (DDP) evaluation; whatever is said is a false alarm."""
    chance = random.Random(f"healthy {layout} {seed}")  # noqa: S311  paces, not secrets
    read, width, every = chance.choice([0, 15, 30, 60]), chance.choice([32, 64, 96]), chance.choice([20, 50])
    with tempfile.TemporaryDirectory() as checkpoints:
        arguments = [
            *(f"--steps={STEPS}", f"--read-ms={read}", f"--width={width}"),
            *(f"--checkpoint-dir={checkpoints}", f"--checkpoint-every={every}"),
            *(["--evaluate-every=15"] if layout == "ddp" else []),
        ]
        try:
            with Watched(SCRIPTS[layout], arguments) as training:
                training.run.wait(RunEnded, "the end", 150, lambda event: event.outcome == "finished")
                said = [event.finding.summary for event in training.findings(0)]
                seen = len(training.iterations())
        except Problem as problem:
            return Result("healthy", layout, -1, said=str(problem))
    right = not said and seen > 0.8 * STEPS
    return Result(
        "healthy", layout, -1, right, bool(said), said="; ".join(said) or f"nothing in {seen} iterations"
    )
