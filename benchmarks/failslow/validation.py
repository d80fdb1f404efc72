"""How long the training pauses to be measured, how many passes that takes, and who is named.

python benchmarks/failslow/validation.py [--quick] [--write]

Real training of 8 Gloo workers (examples/train_ddp.py), real faults, real shaped links in network namespaces
(left out where they cannot be made). More workers are processes with the tap's own pauses and real transfers
over loopback, but no training: their arithmetic is simulated. Exit code 1 where a bar is missed.
"""
# ruff: noqa: E402, E501  the other benches are found by path; texts of a page

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import timeit
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(Path(__file__).parent)]

import netns
import page
from paused import Many

from evenpace import faults
from evenpace.collect.job.rings import RingError, RingHeader, RingReader
from evenpace.faults.target import Target
from evenpace.locate.links import ring_links
from evenpace.respond.probing import ProbeRequest, Probing
from evenpace.tap.environment import environment
from evenpace.tap.inject.evenpace_tap.probe import Pauses
from evenpace.tap.inject.evenpace_tap.ring import Ring
from evenpace.watch.events import Probed

RANKS, MANY, PAUSE = 8, 64, 3.0  # the bar: seconds
INTRODUCTION = (
    f"Real training of {RANKS} Gloo workers (`examples/train_ddp.py`, a network namespace each where a link is slowed), "
    "all ranks and all links of their ring measured. *Pause*: from the first worker that stood until all were told to "
    "go on. *Right*: exactly the worker or link that was slowed was named. *Innocent named*: probes that named another. "
    "Simulated workers have the tap's own pauses and real transfers over loopback on the same few cores, "
    "but a product that takes as long everywhere; their links compete for the cores."
)
FACTOR, BITS = 2.0, 200e6  # of the slow worker; of the slow link, a second
EVERYTHING = ProbeRequest(tuple(range(RANKS)), tuple(ring_links(range(RANKS))))
HEAD = ("what", "probes", "pause (median, max)", "passes", "right", "innocent named")


@dataclass(frozen=True)
class Case:
    """Probes of one kind; `right` is None where nothing is to be named."""

    what: str
    probed: list[Probed]
    right: int | None = None
    innocent: int = 0
    bounded: bool = True  # by the bar of the pause

    def row(self) -> list[object]:
        """Return its line of the table."""
        pauses = [one.pause for one in self.probed]
        passes = ", ".join(map(str, sorted({one.passes for one in self.probed})))
        right = "-" if self.right is None else f"{self.right} of {len(self.probed)}"
        shown = f"{statistics.median(pauses):.2f} s, {max(pauses):.2f} s"
        return [self.what, len(self.probed), shown, passes, right, self.innocent]


class Training:
    """The example on RANKS ranks under the tap alone, as long as this context lasts."""

    def __init__(self, steps: int = 100_000, network: netns.Network | None = None) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="evenpace-bench-", ignore_cleanup_errors=True)
        self.folder = Path(self._temporary.name)
        base = {**os.environ, "OMP_NUM_THREADS": "1", **(network.environment() if network else {})}
        script = [str(ROOT / "examples" / "train_ddp.py"), f"--steps={steps}", "--seed=3"]
        self.said = self.folder / "said.txt"
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "benchmarks" / "forkrun.py"), str(RANKS), *script],
            env=environment(self.folder, "node", "bench", 0, base, "native").env,
            stdout=self.said.open("wb"),
            stderr=subprocess.STDOUT,
            process_group=0,
        )

    def __enter__(self) -> Training:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._temporary.cleanup()

    def workers(self) -> dict[int, tuple[Path, RingHeader]]:
        """Return ring and header of each rank, once all are training."""
        end = time.monotonic() + 120
        while time.monotonic() < end and self.process.poll() is None:
            found = {}
            for path in self.folder.glob("*.ring"):
                with contextlib.suppress(OSError, RingError):
                    header = RingReader(path).header()
                    if header.optimizer_steps > 5:
                        found[header.rank] = (path, header)
            if len(found) == RANKS:
                return found
            time.sleep(0.1)
        raise SystemExit(f"the training did not begin:\n{self.said.read_text()[-2000:]}")

    def probing(self) -> Probing:
        """Return what measures it."""
        return Probing({rank: path for rank, (path, _) in self.workers().items()}, self.folder)

    def losses(self) -> list[str]:
        """Return the loss of each step, once it has ended by itself."""
        self.process.wait(280)
        lines = self.said.read_text().splitlines()
        return [line.split(" time ")[0] for line in lines if " loss " in line]


def probe(probing: Probing, request: ProbeRequest = EVERYTHING) -> Probed:
    """Measure once; say how it went."""
    probing.start(request)
    while (told := probing.poll()) is None:
        time.sleep(0.02)
    print(
        f"  pause {told.pause:.2f} s, slow ranks {told.slow_ranks}, links {told.slow_links} {told.failed}",
        flush=True,
    )
    return told


def healthy(count: int) -> Case:
    """Measure a training in which all is well."""
    with Training() as training:
        probing = training.probing()
        probed = [probe(probing, EVERYTHING) for _ in range(count)]
    innocent = sum(bool(one.slow_ranks or one.slow_links) for one in probed)
    return Case("all well", probed, None, innocent)


def slow_worker(count: int, chance: random.Random) -> Case:
    """Slow one worker after the other."""
    probed, victims = [], []
    with Training() as training:
        probing, workers = training.probing(), training.workers()
        for _ in range(count):
            victims.append(chance.randrange(RANKS))
            process = psutil.Process(workers[victims[-1]][1].pid)
            with faults.find("slow").inject(Target(process, FACTOR)):
                probed.append(probe(probing))
    right = sum(one.slow_ranks == [victim] for one, victim in zip(probed, victims, strict=True))
    innocent = sum(
        bool(set(one.slow_ranks) - {victim} or one.slow_links)
        for one, victim in zip(probed, victims, strict=True)
    )
    return Case(f"a worker {FACTOR:g} times slower", probed, right, innocent)


def slow_link(count: int, chance: random.Random) -> Case:
    """Slow one link of the ring after the other, by shaping, in namespaces."""
    probed, links = [], []
    with netns.network(RANKS) as network, Training(network=network) as training:
        probing = training.probing()
        for _ in range(count):
            links.append(chance.choice(EVERYTHING.links))
            with network.slow_pair(*links[-1], BITS):
                probed.append(probe(probing))
    right = sum(one.slow_links == [link] for one, link in zip(probed, links, strict=True))
    innocent = sum(
        bool(one.slow_ranks or set(one.slow_links) - {link}) for one, link in zip(probed, links, strict=True)
    )
    return Case(f"a link of {BITS / 1e6:g} Mbit/s", probed, right, innocent)


def stopped() -> Case:
    """Stop a worker for good in the middle of the pause: the others must not stand longer than they are told to."""
    with Training() as training:
        probing, (path, header) = training.probing(), training.workers()[3]
        with held(path, header.pid):
            probed = [probe(probing)]
        after = probe(probing)
    assert not after.failed, after.failed
    innocent = sum(bool(one.slow_ranks or one.slow_links) for one in probed)
    return Case("a worker is stopped in the pause", probed, None, innocent, bounded=False)


@contextlib.contextmanager
def held(ring: Path, pid: int) -> Iterator[None]:
    """Stop a process as soon as it has come to the announced step."""
    over = threading.Event()

    def stop() -> None:
        announcement = ring.with_suffix(".probe")
        while not over.wait(0.01):
            with contextlib.suppress(OSError, ValueError):
                if json.loads(announcement.read_text())["step"] == RingReader(ring).header().optimizer_steps:
                    os.kill(pid, signal.SIGSTOP)
                    return

    thread = threading.Thread(target=stop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        os.kill(pid, signal.SIGCONT)


def many(count: int) -> Case:
    """Measure a ring of `count` simulated workers."""
    with Many(count) as job:
        probed = [probe(job.probing(), ProbeRequest(tuple(range(count)), tuple(ring_links(range(count)))))]
    return Case(f"{count} simulated workers", probed, bounded=False)


def same_losses(steps: int) -> bool:
    """Tell whether probes leave every loss as it was, to the last digit that is printed."""
    with Training(steps) as training:
        expected = training.losses()
    with Training(steps) as training:
        probing = training.probing()
        told = [probe(probing) for _ in range(3)]
        found = training.losses()
    assert all(not one.failed for one in told), told
    return len(expected) == steps + 1 and expected == found


def look_seconds() -> float:
    """Return what a step costs where nothing is announced."""
    with tempfile.TemporaryDirectory() as folder:
        pauses = Pauses(Ring(f"{folder}/node.1.ring", "node", 2))
        return min(timeit.repeat(lambda: pauses.after_step(1), number=20_000, repeat=5)) / 20_000


def main() -> int:
    """Run all cases; return the exit code."""
    parser = argparse.ArgumentParser(description="Measure pauses for validation.")
    parser.add_argument("--quick", action="store_true", help="two probes of each kind")
    parser.add_argument("--write", action="store_true", help="save docs/benchmarks/failslow_validation.md")
    args = parser.parse_args()
    count, chance = 2 if args.quick else 6, random.Random(5)  # noqa: S311  victims, not secrets
    cases = [healthy(count), slow_worker(count, chance)]
    cases += [slow_link(count, chance)] if netns.available() else []
    cases += [stopped(), many(RANKS), many(MANY)]
    same, look = same_losses(60 if args.quick else 100), look_seconds()
    missed = bars(cases, same)
    text = "\n\n".join([page.table(HEAD, [case.row() for case in cases]), notes(same, look), verdict(missed)])
    print(f"\n{text}")
    if args.write:
        command = "python benchmarks/failslow/validation.py --write"
        page.save("failslow_validation", "Validation by a pause", command, f"{INTRODUCTION}\n\n{text}")
    return 1 if missed else 0


def notes(same: bool, look: float) -> str:
    """Say what is not in the table."""
    return (
        f"Losses of all steps with three pauses and without, to the last printed digit: "
        f"{'the same' if same else 'different'}. What a step costs where nothing is announced: {look * 1e6:.2f} us."
    )


def bars(cases: list[Case], same: bool) -> list[str]:
    """Return the bars that were missed, in words."""
    real = [case for case in cases if case.bounded]
    longest = max(one.pause for case in real for one in case.probed)
    passes = {one.passes for case in cases for one in case.probed if not one.failed}
    missed = [] if longest <= PAUSE else [f"pause of {longest:.2f} s; at most {PAUSE:g}"]
    missed += [] if len(passes) == 1 else [f"passes {sorted(passes)}; the same number for {RANKS} and {MANY}"]
    missed += [] if same else ["losses differ with pauses"]
    return missed


def verdict(missed: list[str]) -> str:
    """Say which bars are met."""
    bar = (
        f"bar at most {PAUSE:g} s for {RANKS} workers, as many passes for {RANKS} as for {MANY}, same losses"
    )
    return f"{bar}: met" if not missed else "\n".join(f"{bar}: missed, {one}" for one in missed)


if __name__ == "__main__":
    sys.exit(main())
