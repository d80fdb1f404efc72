"""How soon does training go on after a worker died or hung, and what is lost? Under `--policy restart`.

python benchmarks/recovery.py [--seeds 2] [--write]

The demo's training on four emulated nodes and a spare, one fault each. Exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import page

from evenpace import faults
from evenpace.demo import training
from evenpace.demo.follow import Follower
from evenpace.demo.lineage import trace
from evenpace.faults.target import aim
from evenpace.watch.events import (
    Decision,
    FindingRaised,
    IncarnationStarted,
    Iteration,
    RunEnded,
    WorkerJoined,
    seconds,
)

FAULTS = ("crash-sigkill", "crash-sigsegv", "hang-stopped")
KEPT = ("crash-sigsegv",)  # most likely the program: its node goes at the second time only
BAR = 15.0  # seconds beyond the script's own start-up
HEAD = (
    "fault", "node", "taken out", "named after", "stopped and started again after", "going on after",
    "of it, the script's start-up", "rest", "steps repeated", "each sample once",
)  # fmt: skip
INTRODUCTION = (
    "The example script, unchanged, with a checkpoint every "
    f"{training.CHECKPOINT_EVERY} steps; a random worker is hit at a random moment. Seconds from the fault. "
    "*Going on*: the first iteration after the restart begins. *The script's start-up*: the same from the "
    "start of the job to its first iteration, in the same run. *Steps repeated*: trained a second time, from "
    "the ids that the script logs."
)


@dataclass(frozen=True)
class Recovery:
    """One recovery; times in seconds since the fault."""

    fault: str
    node: str
    out: list[str]
    named: float
    restarted: float
    going_on: float
    start_up: float
    repeated: int
    exact: bool

    @property
    def rest(self) -> float:
        """Return the time that is not the script's own."""
        return self.going_on - self.start_up

    def missed(self) -> list[str]:
        """Return the bars that this one misses."""
        found = [f"{self.fault}: {self.rest:.1f} s beyond the start-up"] * (self.rest > BAR)
        found += [f"{self.fault}: {self.repeated} steps repeated"] * (
            self.repeated > training.CHECKPOINT_EVERY
        )
        found += [f"{self.fault}: samples lost or repeated"] * (not self.exact)
        expected = [] if self.fault in KEPT else [self.node]
        return found + [f"{self.fault}: took out {self.out}"] * (self.out != expected)


def main() -> int:
    """Run the cases; return the exit code."""
    parser = argparse.ArgumentParser(description="Measure how soon training goes on after a fault.")
    parser.add_argument("--seeds", type=int, default=2, help="victims and moments of each fault")
    parser.add_argument("--write", action="store_true", help="save the table to docs/benchmarks/recovery.md")
    args = parser.parse_args()
    found = [once(name, seed) for seed in range(args.seeds) for name in FAULTS]
    text = page.table(HEAD, [row(one) for one in found])
    missed = [line for one in found for line in one.missed()]
    verdict = "\n".join(f"- missed: {line}" for line in missed) or "All bars met."
    print(f"\n{text}\n\n{verdict}")
    if args.write:
        page.save("recovery", "Recovery", "make bench-recovery", f"{INTRODUCTION}\n\n{text}\n\n{verdict}")
    return 1 if missed else 0


def once(name: str, seed: int) -> Recovery:
    """Hit one worker of a training and follow it to its end."""
    chance = random.Random(f"{name} {seed}")  # noqa: S311  victims, not secrets
    with tempfile.TemporaryDirectory(prefix="evenpace-bench-", ignore_cleanup_errors=True) as home:
        folder = Path(home) / "run"
        process = training.start(training.watched(folder, "en"), Path(home) / "said.txt")
        try:
            run = Follower(folder / "events.jsonl", lambda: process.poll() is None)
            return follow(run, folder, name, chance.randrange(training.NODES), chance.randint(50, 110))
        finally:
            end(process)


def follow(run: Follower, folder: Path, name: str, rank: int, after: int) -> Recovery:
    """Cause the fault after so many iterations; measure until the run has ended."""
    worker = run.wait(WorkerJoined, f"rank {rank}", 90, lambda event: event.rank == rank)
    run.wait(Iteration, f"{after} iterations", 120, lambda event: event.iteration >= after)
    with faults.find(name).inject(aim(worker.pid, 2.0)):
        began = time.time()
        again = run.wait(IncarnationStarted, "the restart", 60, lambda event: event.incarnation == 1)
    first = run.wait(Iteration, "an iteration after it", 120, lambda event: event.incarnation == 1)
    run.wait(RunEnded, "the end", 180, lambda event: event.outcome == "finished")
    before = next(event for event in run.events if isinstance(event, Iteration))
    started = next(event for event in run.events if isinstance(event, IncarnationStarted))
    raised = next(event for event in run.events if isinstance(event, FindingRaised))
    decided = next(event for event in run.events if isinstance(event, Decision))
    lineage = trace(folder / "ids", training.STEPS * training.BATCH)
    result = Recovery(
        fault=name,
        node=worker.node,
        out=decided.nodes_out,
        named=seconds(raised.time) - began,
        restarted=seconds(again.time) - began,
        going_on=seconds(first.time) - began,
        start_up=seconds(before.time) - seconds(started.time),
        repeated=lineage.repeated_steps,
        exact=lineage.exact,
    )
    print(*row(result), sep="  ", flush=True)
    return result


def end(process: subprocess.Popen[bytes]) -> None:
    """End evenpace and its job."""
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                continue


def row(one: Recovery) -> Sequence[str]:
    """Return a recovery as cells of the table."""
    times = (one.named, one.restarted, one.going_on, one.start_up, one.rest)
    return [
        *(one.fault, one.node, ", ".join(one.out) or "nobody"),
        *(f"{value:.1f} s" for value in times),
        *(str(one.repeated), "yes" if one.exact else "no"),
    ]


if __name__ == "__main__":
    sys.exit(main())
