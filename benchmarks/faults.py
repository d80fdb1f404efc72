"""Does evenpace name the right worker? Real faults in real trainings, each with several victims and moments.

python benchmarks/faults.py [--seeds 5] [--healthy 20] [--only FAULT] [--layout ddp] [--write]

Prints a line a case and a table at the end; exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, product

import page
from cases import SCRIPTS, Result, healthy, in_turn, once
from watched import RANKS

from evenpace import faults

REVERSIBLE = ("slow", "cpu-contention")  # several victims, one after the other, in one training
PACED = (*REVERSIBLE, "all-slow")  # need the machine alone
RIGHT, SECONDS, ITERATIONS, RATIO = 0.95, 10.0, 5, 1.3  # the bars; the last: what counts as slow
HEAD = (
    "fault",
    "layout",
    "cases",
    "right",
    "innocent named",
    "seconds (median, max)",
    "iterations (max)",
    "pace",
)
INTRODUCTION = (
    f"Unmodified training scripts on {RANKS} ranks, one on each emulated node, under `evenpace run`; victims "
    "and moments at random. *Right*: the fault's slug and exactly the victim were named, or nobody where "
    "nobody is to blame. *Innocent named*: at any time, also where it was corrected later. *Seconds*: from "
    "the injection. *Iterations*: whole ones, from the injection until named. *Pace*: iteration time with "
    "the fault over the time before."
)


def main() -> int:
    """Run the cases that were asked for; return the exit code."""
    args = arguments()
    results: list[Result] = []
    for result in cases(args):
        results.append(result)
        print(line(result), flush=True)
    text, missed = page.table(HEAD, rows(results)), bars(results)
    verdict = "\n".join(f"- missed: {one}" for one in missed) or "All bars met."
    print(f"\n{text}\n\n{verdict}")
    if args.write:
        page.save("faults", "Verdicts", "make bench-faults", f"{INTRODUCTION}\n\n{text}\n\n{verdict}")
    return 1 if missed else 0


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Cause real faults and judge what evenpace says.")
    parser.add_argument("--seeds", type=int, default=5, help="victims and moments, for each fault and layout")
    parser.add_argument("--healthy", type=int, default=20, help="healthy runs")
    parser.add_argument(
        "--only", action="append", choices=[*faults.names(), "healthy"], help="may be repeated"
    )
    parser.add_argument("--layout", action="append", choices=list(SCRIPTS), help="default: ddp and fsdp2")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time, where pace does not matter")
    parser.add_argument("--write", action="store_true", help="save the table to docs/benchmarks/faults.md")
    return parser.parse_args()


def cases(args: argparse.Namespace) -> Iterator[Result]:
    """Yield results as they come: first what tolerates a neighbour, then what needs the machine alone."""
    layouts, names = args.layout or ["ddp", "fsdp2"], args.only or [*faults.names(), "healthy"]
    seeds = list(range(args.seeds))
    crowd = [name for name in names if name not in (*PACED, "healthy")]
    with ThreadPoolExecutor(args.jobs) as pool:
        yield from pool.map(lambda case: once(*case), product(crowd, layouts, seeds))
    for name, layout in product(names, layouts):
        if name in REVERSIBLE:
            yield from in_turn(name, layout, list(seeds))
        elif name in PACED:
            yield from (once(name, layout, seed) for seed in seeds)
    if "healthy" in names:
        yield from (healthy(layouts[seed % len(layouts)], seed) for seed in range(args.healthy))


def line(result: Result) -> str:
    """Say how one case went."""
    verdict = "INNOCENT" if result.innocent else "right" if result.right else "WRONG"
    details = [f"{result.seconds:.1f} s"] if result.seconds is not None else []
    details += [f"{result.iterations} iterations"] if result.iterations is not None else []
    details += [f"pace {result.ratio:.2f}"] if result.ratio is not None else []
    victim = f" rank {result.rank}" if result.rank >= 0 else ""
    return f"{verdict:9}{result.fault} {result.layout}{victim} ({', '.join(details)}): {result.said}"


def rows(results: Sequence[Result]) -> list[list[object]]:
    """Return a row for each fault and layout."""
    ordered = sorted(results, key=lambda one: (one.fault, one.layout))
    return [
        row(fault, layout, list(group))
        for (fault, layout), group in groupby(ordered, key=lambda one: (one.fault, one.layout))
    ]


def row(fault: str, layout: str, group: list[Result]) -> list[object]:
    """Sum one fault in one layout up."""
    times = [one.seconds for one in group if one.seconds is not None]
    counts = [one.iterations for one in group if one.iterations is not None and fault in PACED]
    ratios = [one.ratio for one in group if one.ratio is not None and fault in PACED]
    return [
        *(fault, layout, len(group), sum(one.right for one in group), sum(one.innocent for one in group)),
        f"{statistics.median(times):.1f}, {max(times):.1f}" if times else "-",
        f"{statistics.median(counts):g} ({max(counts)})" if counts else "-",
        f"{statistics.median(ratios):.2f}" if ratios else "-",
    ]


def bars(results: Sequence[Result]) -> list[str]:
    """Return the bars that were missed, in words."""
    faulty = [one for one in results if one.fault != "healthy"]
    right = sum(one.right for one in faulty)
    missed = []
    if right < RIGHT * len(faulty):
        missed.append(f"culprit right in {right} of {len(faulty)}; at least {RIGHT:.0%}")
    if innocents := sum(one.innocent for one in faulty):
        missed.append(f"an innocent named in {innocents} of {len(faulty)}; never")
    if late := [one for one in faulty if one.fault not in PACED and (one.seconds or 0) > SECONDS]:
        missed.append(f"hang or crash named late in {len(late)}; at most {SECONDS:g} s")
    slow = [one for one in faulty if one.fault in REVERSIBLE and (one.ratio or 0) >= RATIO]
    if late := [one for one in slow if (one.iterations or 0) > ITERATIONS]:
        missed.append(f"slow named late in {len(late)} of {len(slow)}; at most {ITERATIONS} iterations")
    if alarms := sum(not one.right for one in results if one.fault == "healthy"):
        missed.append(f"alarms in {alarms} healthy runs; none")
    return missed


if __name__ == "__main__":
    sys.exit(main())
