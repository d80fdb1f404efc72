"""How soon and how rightly is a slowness narrowed? 60 real injections, workers and links, 4 and 8 Gloo workers.

python benchmarks/failslow/reaction.py [--only ddp-4] [--quick] [--write]

Needs root: every rank gets its own network namespace, so that links can be slowed. Prints a line an injection
and a table at the end; exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]

import page
from netns import Network, network
from watched import Watched

from evenpace import faults
from evenpace.errors import Problem
from evenpace.faults.target import aim
from evenpace.findings import Finding
from evenpace.watch.events import (
    Event,
    FindingClosed,
    FindingRaised,
    IncarnationStarted,
    Iteration,
    Narrowed,
    PeriodFound,
    seconds,
)

RIGHT, ITERATIONS, PASSIVE = 0.95, 3, 0.8  # the bars; and no innocent
BASELINE = 18  # iterations between two injections, and a few at random
LISTEN = 14  # slow iterations that are waited for the right answer
LINGER = 5  # slow iterations after it, for a wrong one to follow
RELIEF = 40.0  # seconds
COMMON = ["--steps=4000", "--read-ms=100"]


@dataclass(frozen=True, slots=True)
class Training:
    """One training, and how many injections of each kind it gets."""

    script: str
    ranks: int
    slow: int
    cpu: int
    two: int  # two slow workers at once
    pairs: int = 0
    uplinks: int = 0
    arguments: tuple[str, ...] = ()
    traffic: float = 1e6  # bytes that a link carries in an iteration, about


TRAININGS = {
    "ddp-4": Training("train_ddp.py", 4, slow=5, cpu=2, two=1, pairs=2, uplinks=1, traffic=1.4e6),
    "ddp-8": Training(
        *("train_ddp.py", 8),
        **{"slow": 5, "cpu": 2, "two": 1, "pairs": 1, "uplinks": 1},
        arguments=("--layers=2", "--batch=8"),
        traffic=0.9e6,
    ),
    "fsdp2-4": Training(
        *("train_fsdp2.py", 4),
        **{"slow": 5, "cpu": 2, "two": 1, "pairs": 1, "uplinks": 1},
        arguments=("--layers=2", "--batch=8"),
        traffic=2e6,
    ),
    "fsdp2-8": Training(
        *("train_fsdp2.py", 8),
        **{"slow": 4, "cpu": 2, "two": 1, "pairs": 1},
        arguments=("--layers=1", "--batch=8"),
        traffic=1.5e6,
    ),
    "pipeline-4": Training(
        *("train_pipeline.py", 4),
        **{"slow": 3, "cpu": 2, "two": 0, "pairs": 6},
        arguments=("--length=64", "--micro-batches=4"),
        traffic=4e5,
    ),
    "pipeline-8": Training(
        *("train_pipeline.py", 8),
        **{"slow": 3, "cpu": 2, "two": 0, "pairs": 6},
        arguments=("--length=64", "--micro-batches=8", "--layers=8"),
        traffic=6e5,
    ),
}


@dataclass(frozen=True, slots=True)
class Injection:
    """What is done to a training: `ranks` are slowed, or the link from the first to the second of them."""

    kind: str  # slow, cpu-contention, two-slow, pair, uplink
    ranks: tuple[int, ...]
    strength: float  # of slow and cpu-contention: the fault's factor; of links: the pace that is aimed at

    @property
    def of_link(self) -> bool:
        """Tell whether a link is slowed."""
        return self.kind in ("pair", "uplink")


@dataclass(frozen=True, slots=True)
class Result:
    """What came of an injection, and how soon, in slow iterations.

    `onset`: those taken in when the onset was told; `iterations`: likewise, the right answer; `until`: those
    that had ended by then, by the wall clock.
    """

    training: str
    kind: str
    ranks: tuple[int, ...]
    began: float
    ended: float
    right: bool = False
    innocent: bool = False
    passive: bool = False
    onset: int | None = None
    iterations: int | None = None
    until: int | None = None
    pace: float | None = None
    said: str = ""


def plan(name: str, training: Training) -> list[Injection]:
    """Return the injections of a training, in an order by chance that is always the same."""
    chance = random.Random(f"reaction {name}")  # noqa: S311  victims, not secrets
    ring = training.script != "train_pipeline.py"
    made = [
        Injection("slow", (chance.randrange(training.ranks),), chance.choice(STRENGTHS[name][0]))
        for _ in range(training.slow)
    ]
    made += [
        Injection("cpu-contention", (chance.randrange(training.ranks),), chance.choice(STRENGTHS[name][1]))
        for _ in range(training.cpu)
    ]
    made += [
        Injection("two-slow", tuple(sorted(chance.sample(range(training.ranks), 2))), STRENGTHS[name][0][-1])
        for _ in range(training.two)
    ]
    for number in range(training.pairs + training.uplinks):
        source = chance.randrange(training.ranks)
        step = -1 if ring or source == training.ranks - 1 or (source and chance.random() < 0.5) else 1
        kind = "pair" if number < training.pairs else "uplink"
        made.append(
            Injection(kind, (source, (source + step) % training.ranks), chance.choice((1.5, 2.0, 3.0)))
        )
    chance.shuffle(made)
    return made


STRENGTHS = {  # of `slow`, then of `cpu-contention`: for a job 1.2 to 3 times slower
    "ddp-4": ((2.5, 3.5, 5.0), (0.8, 1.0)),
    "ddp-8": ((2.5, 3.5, 5.0), (0.8, 1.0)),
    "fsdp2-4": ((2.5, 3.5, 5.0), (1.0, 1.3)),
    "fsdp2-8": ((3.0, 4.0, 6.0), (1.0, 1.3)),
    "pipeline-4": ((7.0, 10.0, 13.0), (1.2, 1.5)),
    "pipeline-8": ((9.0, 13.0, 18.0), (1.2, 1.5)),
}


def drill(name: str, training: Training, injections: list[Injection], keep: Path | None) -> Iterator[Result]:
    """Run a training and cause one injection after the other, each relieved before the next."""
    left = list(injections)
    while left:
        try:
            with network(training.ranks) as net:
                yield from _drill(name, training, left, net, keep)
        except Problem as problem:
            yield Result(name, left[0].kind, left[0].ranks, 0, 0, said=str(problem))
            left.pop(0)


def _drill(
    name: str, training: Training, left: list[Injection], net: Network, keep: Path | None
) -> Iterator[Result]:
    with Watched(
        training.script, [*COMMON, *training.arguments], net.environment(), training.ranks
    ) as watched:
        watched.run.wait(PeriodFound, "the iteration", 60)
        chance, done = random.Random(name), []  # noqa: S311  moments, not secrets
        while left:
            watched.more_iterations(BASELINE + chance.randint(0, 5))
            result = one(name, training, watched, net, left.pop(0))
            done.append(result)
            yield result
            if not relieved(watched, result):
                break
        if keep:
            save(watched, keep / f"{name}-{int(time.time())}", done)


def save(watched: Watched, folder: Path, done: list[Result]) -> None:
    """Keep the recording and what was done, to judge it again offline."""
    rings = next(event.rings for event in watched.run.events if isinstance(event, IncarnationStarted))
    shutil.copytree(rings, folder)
    shutil.copy(watched.folder / "events.jsonl", folder)
    (folder / "truth.json").write_text(json.dumps([asdict(one) for one in done]))


def one(name: str, training: Training, watched: Watched, net: Network, what: Injection) -> Result:
    """Cause one injection, listen, relieve, judge."""
    before = statistics.median(max(event.durations) for event in watched.iterations()[-BASELINE:])
    with contextlib.ExitStack() as stack:
        cause(stack, training, watched, net, what, before)
        began = time.time()
        listen(watched, what, began)
        ended = time.time()
    return judge(name, watched, what, began, ended, before)


def cause(
    stack: contextlib.ExitStack,
    training: Training,
    watched: Watched,
    net: Network,
    what: Injection,
    before: float,
) -> None:
    """Begin an injection; the stack ends it."""
    if what.of_link:
        bits = training.traffic * 8 / ((what.strength - 1) * before)
        pair = what.kind == "pair"
        stack.enter_context(
            net.slow_pair(*what.ranks, bits) if pair else net.slow_uplink(what.ranks[0], bits)  # type: ignore[call-arg]
        )
        return
    fault = faults.find("slow" if what.kind == "two-slow" else what.kind)
    for rank in what.ranks:
        stack.enter_context(fault.inject(aim(watched.worker(rank).pid, what.strength)))


def listen(watched: Watched, what: Injection, began: float) -> None:
    """Wait for the right answer, and a little longer for a wrong one."""
    end, told = time.time() + 40, None
    while time.time() < end and watched.process.poll() is None:
        count = len(slow_iterations(watched, began))
        if told is None and any(right(event, what) for event in answers(watched, began)):
            told = count
        if count >= LISTEN if told is None else count >= told + LINGER:
            return
        time.sleep(0.1)


def relieved(watched: Watched, result: Result) -> bool:
    """Wait until evenpace has seen that it was over; False where it did not."""
    said = [event for event in answers(watched, result.began) if isinstance(event, FindingRaised)]
    try:
        for number in {event.id for event in said}:
            watched.run.wait(FindingClosed, "the relief", RELIEF, lambda event, n=number: event.id == n)  # type: ignore[misc]
    except Problem:
        return False
    return True


def slow_iterations(watched: Watched, began: float) -> list[Iteration]:
    """Return the iterations that began after a moment."""
    return [event for event in watched.iterations() if seconds(event.time) > began]


def answers(watched: Watched, began: float, ended: float = float("inf")) -> list[Narrowed | FindingRaised]:
    """Return what was said between two moments."""
    watched.run.read()
    return [
        event
        for event in watched.run.events
        if isinstance(event, Narrowed | FindingRaised) and began <= seconds(event.time) <= ended
    ]


def accused(finding: Finding) -> set[int]:
    """Return the ranks that a finding names; of a link, its two ends."""
    ranks = finding.subject.rank
    return set() if ranks is None else {ranks} if isinstance(ranks, int) else set(ranks)


def right(event: Event, what: Injection) -> bool:
    """Tell whether it says the truth: the ranks, the pair, or (rings) a link among the candidates."""
    if isinstance(event, FindingRaised):
        compute = event.finding.fault in ("non-communication-slow", "data-loader")
        if what.of_link:
            named = accused(event.finding)
            return event.finding.fault == "communication-slow" and named in (set(), set(what.ranks))
        return compute and accused(event.finding) == set(what.ranks)
    assert isinstance(event, Narrowed)
    if not what.of_link:
        return event.cause == "compute" and event.proven and set(event.suspects) == set(what.ranks)
    if event.cause != "link":
        return False
    return set(event.links) == {what.ranks} if event.proven else what.ranks in event.links


def wrong(event: Event, what: Injection) -> bool:
    """Tell whether it accuses somebody who has done nothing: by name, or as proven."""
    if isinstance(event, FindingRaised):
        return bool(accused(event.finding) - set(what.ranks))
    assert isinstance(event, Narrowed)
    named = set(event.suspects) | {rank for link in event.links for rank in link}
    return event.proven and bool(named - set(what.ranks))


def judge(name: str, watched: Watched, what: Injection, began: float, ended: float, before: float) -> Result:
    """Compare what was said with the truth."""
    said = answers(watched, began, ended)
    slow = slow_iterations(watched, began)
    first = next((event for event in said if right(event, what)), None)
    narrowed = [event for event in said if isinstance(event, Narrowed)]
    return Result(
        name,
        what.kind,
        what.ranks,
        began,
        ended,
        right=first is not None and all(right(event, what) for event in last_words(said)),
        innocent=any(wrong(event, what) for event in said),
        passive=any(event.proven and right(event, what) for event in narrowed),
        onset=seen_before(watched, began, said[0]) if said else None,
        iterations=None if first is None else seen_before(watched, began, first),
        until=None if first is None else finished(slow, seconds(first.time)),
        pace=statistics.median(max(event.durations) for event in slow) / before if slow else None,
        said=" | ".join(say(event) for event in said) or "nothing",
    )


def last_words(said: Sequence[Event]) -> list[Event]:
    """Return the last narrowing and the last finding."""
    kinds = {type(event): event for event in said}
    return list(kinds.values())


def seen_before(watched: Watched, began: float, told: Event) -> int:
    """Count the slow iterations that the watcher had taken in when it told."""
    earlier = watched.run.events[: watched.run.events.index(told)]
    return sum(isinstance(event, Iteration) and seconds(event.time) > began for event in earlier)


def finished(slow: Sequence[Iteration], told: float) -> int:
    """Count the slow iterations that had ended at a moment."""
    return sum(seconds(event.time) + max(event.durations) <= told for event in slow)


def say(event: Event) -> str:
    """Say an answer in short."""
    if isinstance(event, FindingRaised):
        return f"{event.finding.fault} {sorted(accused(event.finding)) or ''}".strip()
    assert isinstance(event, Narrowed)
    links = f"{len(event.links)} links" if len(event.links) > 2 else event.links or ""
    return f"{'proven' if event.proven else 'narrowed'} {event.cause} {event.suspects or ''} {links}".strip()


def line(result: Result) -> str:
    """Say how one injection went."""
    verdict = "INNOCENT" if result.innocent else "right" if result.right else "WRONG"
    passive = "passive" if result.passive else "-"
    pace = f"pace {result.pace:.2f}" if result.pace else ""
    return (
        f"{verdict:9}{passive:8}{result.training} {result.kind} {result.ranks} "
        f"(onset {result.onset}, named {result.iterations}, clock {result.until}, {pace}): {result.said}"
    )


HEAD = (
    *("training", "injection", "cases", "right", "innocent named", "passive"),
    *("onset told (max)", "named (max)", "pace"),
)


def rows(results: Sequence[Result]) -> list[list[object]]:
    """Return a row for each training and kind."""
    ordered = sorted(results, key=lambda one: (one.training, one.kind))
    return [
        row(*key, list(group)) for key, group in groupby(ordered, key=lambda one: (one.training, one.kind))
    ]


def row(training: str, kind: str, group: list[Result]) -> list[object]:
    """Sum up one kind of injection in one training."""
    onsets = [one.onset for one in group if one.onset is not None]
    counts = [one.iterations for one in group if one.iterations is not None]
    paces = [one.pace for one in group if one.pace is not None]
    return [
        *(training, kind, len(group), sum(one.right for one in group), sum(one.innocent for one in group)),
        sum(one.passive for one in group),
        f"{statistics.median(onsets):g} ({max(onsets)})" if onsets else "-",
        f"{statistics.median(counts):g} ({max(counts)})" if counts else "-",
        f"{min(paces):.2f} to {max(paces):.2f}" if paces else "-",
    ]


def bars(results: Sequence[Result]) -> list[str]:
    """Say of each bar whether it is met."""
    total, good = len(results), sum(one.right for one in results)
    late = [one for one in results if one.onset is None or one.onset > ITERATIONS]
    innocent, passive = (sum(getattr(one, name) for one in results) for name in ("innocent", "passive"))
    checks = [
        (f"right in at least {RIGHT:.0%}", good >= RIGHT * total, f"{good} of {total}"),
        (f"onset told within {ITERATIONS} iterations", not late, f"{total - len(late)} of {total}"),
        ("no innocent named", not innocent, f"{innocent}"),
        (f"without any pause in at least {PASSIVE:.0%}", passive >= PASSIVE * total, f"{passive} of {total}"),
    ]
    return [f"bar: {what}: {'met' if met else 'missed'} ({value})" for what, met, value in checks]


def main() -> int:
    """Run what was asked for; return the exit code."""
    parser = argparse.ArgumentParser(description="Cause slow workers and links; judge how they are narrowed.")
    parser.add_argument("--only", action="append", choices=list(TRAININGS), help="may be repeated")
    parser.add_argument("--quick", action="store_true", help="three injections a training")
    parser.add_argument("--keep", type=Path, help="keep recordings and truths in this folder")
    parser.add_argument("--write", action="store_true", help="save docs/benchmarks/failslow_reaction.md")
    args = parser.parse_args()
    results = []
    for name in args.only or TRAININGS:
        injections = plan(name, TRAININGS[name])
        for result in drill(name, TRAININGS[name], injections[: 3 if args.quick else None], args.keep):
            results.append(result)
            print(line(result), flush=True)
    text, verdict = page.table(HEAD, rows(results)), bars(results)
    print(f"\n{text}\n\n" + "\n".join(verdict))
    if args.write:
        said = "\n".join(f"- {one}" for one in verdict)
        page.save(
            "failslow_reaction", "Reaction", "make bench-failslow", f"{INTRODUCTION}\n\n{text}\n\n{said}"
        )
    return 1 if any(": missed" in one for one in verdict) else 0


INTRODUCTION = (
    "Unmodified training scripts with 4 and 8 Gloo workers, each in a network namespace of its own, under "
    "`evenpace run`."
)

if __name__ == "__main__":
    sys.exit(main())
