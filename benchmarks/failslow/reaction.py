"""How soon and how rightly is a slowness narrowed? Real injections into trainings of 4 and 8 Gloo workers.

python benchmarks/failslow/reaction.py [--only ddp-4] [--quick] [--write]

Needs root: every rank gets its own network namespace, so that links can be slowed. Prints a line an injection
and a table at the end; exit code 1 where a bar is missed.
"""
# ruff: noqa: E402, E501  the other benches are found by path; texts of a page

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]

import page
from netns import Network, network
from reaction_judge import Result, answers, is_right, judge, slow_iterations
from reaction_plan import COMMON, TRAININGS, Injection, caused, plan
from watched import Watched

from evenpace.errors import Problem
from evenpace.watch.events import FindingClosed, FindingRaised, IncarnationStarted, PeriodFound

RIGHT, ITERATIONS, PASSIVE = 0.95, 3, 0.8  # the bars; and no innocent
SPEEDS = 1.15  # of the pace: an injection that slows the job by less is none
BASELINE = 20  # iterations between two injections, and a few at random
FIRST = 40  # iterations before the first one
LISTEN = 14  # slow iterations that are waited for the right answer
LINGER = 5  # slow iterations after it, for a wrong one to follow
RELIEF = 30.0  # seconds


def drill(name: str, injections: list[Injection], keep: Path | None) -> Iterator[Result]:
    """Run a training and cause one injection after the other, each relieved before the next."""
    left, ranks = list(injections), TRAININGS[name].ranks
    while left:
        try:
            with network(ranks) as net:
                yield from _drill(name, left, net, keep)
        except Problem as problem:
            yield Result(name, left[0].kind, left[0].ranks, 0, 0, said=str(problem))
            left.pop(0)


def _drill(name: str, left: list[Injection], net: Network, keep: Path | None) -> Iterator[Result]:
    training, done = TRAININGS[name], list[Result]()
    arguments = [*COMMON, *training.arguments]
    with Watched(training.script, arguments, net.environment(), training.ranks) as watched:
        watched.run.wait(PeriodFound, "the iteration", 60)
        chance = random.Random(name)  # noqa: S311  moments, not secrets
        while left and (not done or relieved(watched, done[-1])):
            watched.more_iterations((BASELINE if done else FIRST) + chance.randint(0, 5))
            done.append(one(name, watched, net, left.pop(0)))
            yield done[-1]
        if keep:
            save(watched, keep / f"{name}-{int(time.time())}", done)


def one(name: str, watched: Watched, net: Network, what: Injection) -> Result:
    """Cause one injection, listen, relieve, judge."""
    usual = statistics.median(max(event.durations) for event in watched.iterations()[-BASELINE:])
    with caused(what, TRAININGS[name], watched, net, usual):
        began = time.time()
        listen(watched, what, began)
        ended = time.time()
    return judge(name, watched, what, (began, ended), usual)


def listen(watched: Watched, what: Injection, began: float) -> None:
    """Wait for the right answer, and a little longer for a wrong one."""
    end, told = time.time() + 40, None
    while time.time() < end and watched.process.poll() is None:
        count = len(slow_iterations(watched, began))
        if told is None and any(is_right(event, what) for event in answers(watched, began)):
            told = count
        if count >= (LISTEN if told is None else told + LINGER):
            return
        time.sleep(0.1)


def relieved(watched: Watched, result: Result) -> bool:
    """Wait until evenpace has seen that it was over; where it has not, another training is due."""
    said = [event for event in answers(watched, result.began) if isinstance(event, FindingRaised)]
    try:
        for number in {event.id for event in said}:
            watched.run.wait(FindingClosed, "the relief", RELIEF, lambda event, n=number: event.id == n)
    except Problem:
        return False
    return True


def save(watched: Watched, folder: Path, done: list[Result]) -> None:
    """Keep the recording and what was done, to judge it again offline."""
    rings = next(event.rings for event in watched.run.events if isinstance(event, IncarnationStarted))
    shutil.copytree(rings, folder)
    shutil.copy(watched.folder / "events.jsonl", folder)
    (folder / "truth.json").write_text(json.dumps([asdict(one) for one in done]))


def line(result: Result) -> str:
    """Say how one injection went."""
    verdict = "INNOCENT" if result.innocent else "right" if result.right else "WRONG"
    pace = f"pace {result.pace:.2f}" if result.pace else "no pace"
    return (
        f"{verdict:9}{'passive' if result.passive else '-':8}{result.training} {result.kind} {result.ranks} "
        f"(onset {result.onset}, named {result.named}, clock {result.clock}, {pace}): {result.said}"
    )


HEAD = (
    *("training", "injection", "cases", "right", "innocent named", "passive"),
    *("onset told (max)", "named (max)", "pace"),
)


def rows(results: Sequence[Result]) -> list[list[object]]:
    """Return a row for each training and kind."""
    ordered = sorted(results, key=lambda one: (one.training, one.kind))
    return [row(*key, list(group)) for key, group in groupby(ordered, lambda one: (one.training, one.kind))]


def row(training: str, kind: str, group: list[Result]) -> list[object]:
    """Sum up one kind of injection in one training."""
    paces = [one.pace for one in group if one.pace is not None]
    return [
        *(training, kind, len(group), sum(one.right for one in group), sum(one.innocent for one in group)),
        sum(one.passive for one in group),
        *(counted([getattr(one, what) for one in group]) for what in ("onset", "named")),
        f"{min(paces):.2f} to {max(paces):.2f}" if paces else "-",
    ]


def counted(numbers: Sequence[int | None]) -> str:
    """Return median and largest of the numbers that are known."""
    known = [number for number in numbers if number is not None]
    return f"{statistics.median(known):g} ({max(known)})" if known else "-"


def bars(results: Sequence[Result]) -> list[str]:
    """Say of each bar whether it is met, over the injections that did slow the job."""
    slowed = [one for one in results if (one.pace or 0) >= SPEEDS]
    total, good = len(slowed), sum(one.right for one in slowed)
    soon = sum(one.onset is not None and one.onset <= ITERATIONS for one in slowed)
    innocent, passive = sum(one.innocent for one in results), sum(one.passive for one in slowed)
    checks = [
        (f"onset told within {ITERATIONS} iterations", soon == total, f"{soon} of {total}"),
        (f"right in at least {RIGHT:.0%}", good >= RIGHT * total, f"{good} of {total}"),
        ("no innocent named", not innocent, f"{innocent} of {len(results)}"),
        (f"without any pause in at least {PASSIVE:.0%}", passive >= PASSIVE * total, f"{passive} of {total}"),
    ]
    return [f"bar: {what}: {'met' if met else 'missed'} ({value})" for what, met, value in checks]


def main() -> int:
    """Run what was asked for; return the exit code."""
    parser = argparse.ArgumentParser(description="Cause slow workers and links; judge how they are narrowed.")
    parser.add_argument("--only", action="append", choices=list(TRAININGS), help="may be repeated")
    parser.add_argument("--quick", action="store_true", help="three injections a training")
    parser.add_argument("--keep", type=Path, help="keep recordings, truths and results in this folder")
    parser.add_argument("--from", dest="kept", type=Path, help="take the results of trainings kept there")
    parser.add_argument("--write", action="store_true", help="save docs/benchmarks/failslow_reaction.md")
    args = parser.parse_args()
    results = kept(args.kept) if args.kept else []
    for name in () if args.kept else args.only or TRAININGS:
        mine = []
        for result in drill(name, plan(name)[: 3 if args.quick else None], args.keep):
            mine.append(result)
            print(line(result), flush=True)
        if args.keep:
            (args.keep / f"{name}.json").write_text(json.dumps([asdict(one) for one in mine]))
        results += mine
    text, verdict = page.table(HEAD, rows(results)), bars(results)
    print(f"\n{text}\n\n" + "\n".join(verdict))
    if args.write:
        said = "\n".join(f"- {one}" for one in verdict)
        page.save(
            "failslow_reaction", "Reaction", "make bench-failslow", f"{INTRODUCTION}\n\n{text}\n\n{said}"
        )
    return 1 if any(": missed" in one for one in verdict) else 0


def kept(folder: Path) -> list[Result]:
    """Return the results that `--keep` left, one training after the other."""
    files = [folder / f"{name}.json" for name in TRAININGS]
    return [
        Result(**{**one, "ranks": tuple(one["ranks"])})
        for file in files
        if file.exists()
        for one in json.loads(file.read_text())
    ]


INTRODUCTION = (
    "Unmodified training scripts with 4 and 8 Gloo workers, each in a network namespace of its own, under "
    "`evenpace run`; several injections in one training, each relieved before the next. *slow*: a worker that is "
    "stopped and resumed many times a second; *cpu-contention*: a CPU quota; *two-slow*: two workers at once; "
    "*pair*: what one rank sends to another is shaped (HTB); *uplink*: all that it sends. *Right*: the last "
    "answers say exactly the ranks or the pair; where a ring of collectives hides its links, the true link is "
    "among the candidates and nobody is accused (a probe decides). *Innocent named*: by a finding, or as proven, "
    "at any time. *Passive*: proven by what the tap saw, so nothing has to be paused. *Onset told*, *named*: slow "
    "iterations that had been taken in when the onset, or the right answer, was told (median and largest). "
    "*Pace*: iteration time during the injection over the time before."
)

if __name__ == "__main__":
    sys.exit(main())
