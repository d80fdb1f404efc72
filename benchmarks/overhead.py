"""What does the tap cost? Iterations with and without it in interleaved pairs, and one recorded operation.

python benchmarks/overhead.py [--pairs 300] [--write]

Exit code 1 where the bar is missed.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import page
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from evenpace.respond.incarnation import POLL
from evenpace.tap.environment import environment
from evenpace.watch.watcher import Watcher

BAR = 1.004  # median of the ratios
BLOCK = 2  # iterations, timed as one
WARM_UP = 30
CALLS, ROUNDS = 500, 60  # all_reduces of one number, timed as one round
CORES = sorted(os.sched_getaffinity(0))
LAST, OTHERS = CORES[-1], set(CORES[:-1] or CORES)  # for the watcher, and for the ranks
WATCHER = "EVENPACE_BENCH_WATCHER"  # pid
GROUPS = 32  # of the worker whose heartbeats are timed
INTRODUCTION = (
    "*Iteration*: DDP of a small MLP on two ranks (Gloo, one thread each). Recording is switched within the "
    "running processes, in random order, on all ranks alike; a pair is "
    f"{BLOCK} iterations with and {BLOCK} without; the interval is a bootstrap of the median. Beside them a "
    "watcher reads the rings, splits the iterations, detects and narrows, as under `evenpace run`; it is "
    "stopped where nothing is recorded. It has a core of its own, as there is on a training host, and the "
    "ranks have the others. The heartbeat runs in both arms; its own cost is in the second table. "
    "*Operation*: all_reduce of one number on a single rank, processor time of the whole process; the floor "
    "has no tap at all."
)


class Recording:
    """The switch in the native part, and of the watcher. Without one (no tap, Python tap) it does nothing."""

    def __init__(self) -> None:
        self._watcher = int(os.environ.get(WATCHER, "0")) if os.environ.get("RANK") == "0" else 0
        try:
            self._flag = ctypes.c_int.in_dll(ctypes.CDLL(None), "evenpace_tap_recording")
        except ValueError:
            self._flag = ctypes.c_int()

    def set(self, on: bool) -> None:
        """Record from here on, or do not."""
        self._flag.value = on
        if self._watcher:
            os.kill(self._watcher, signal.SIGCONT if on else signal.SIGSTOP)


def train(pairs: int) -> None:
    """Train on two ranks; rank 0 prints the pairs of durations in seconds as JSON: [[with, without], ...]."""
    torch.set_num_threads(1)
    os.sched_setaffinity(0, OTHERS)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    layers = [layer for _ in range(4) for layer in (nn.Linear(512, 512), nn.ReLU())]
    model = DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(128, 512)

    def block(iterations: int = BLOCK) -> tuple[float, float]:
        begun = time.perf_counter(), time.process_time()
        for _ in range(iterations):
            model(batch).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        return time.perf_counter() - begun[0], time.process_time() - begun[1]

    block(WARM_UP)
    durations = paired(pairs, block)
    if dist.get_rank() == 0:
        print(json.dumps(durations))
    dist.destroy_process_group()


def paired(pairs: int, block: Callable[[], Any]) -> list[tuple[Any, Any]]:
    """Time pairs of blocks, [with, without] recording, run in random order (the same on every rank)."""
    recording, order = Recording(), random.Random(0)  # noqa: S311
    durations = []
    for _ in range(pairs):
        pair = {}
        for recorded in order.sample((True, False), 2):
            recording.set(recorded)
            pair[recorded] = block()
        durations.append((pair[True], pair[False]))
    return durations


def watch(rings: str) -> None:
    """Watch the job with these rings until this process is ended."""
    os.sched_setaffinity(0, {LAST})
    watcher = Watcher(0, Path(rings), {})
    while True:
        watcher.poll()
        time.sleep(POLL)


@contextmanager
def watched(rings: str) -> Iterator[dict[str, str]]:
    """Have a watcher beside the job; yield what the workers must know of it."""
    command = [sys.executable, __file__, "--worker", "watch", "--rings", rings]
    watcher = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield {WATCHER: str(watcher.pid)}
    finally:
        watcher.send_signal(signal.SIGCONT)
        watcher.kill()
        watcher.wait()


def calls() -> None:
    """Call all_reduce in a tight loop on a single rank; print [with, without] nanoseconds a call as JSON."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    number = torch.ones(1)

    def block() -> float:
        begun = time.process_time_ns()
        for _ in range(CALLS):
            dist.all_reduce(number)
        return (time.process_time_ns() - begun) / CALLS

    block()
    print(json.dumps([min(arm) for arm in zip(*paired(ROUNDS, block), strict=True)]))


def beats() -> None:
    """Print the processor time of one heartbeat of a worker of some groups in nanoseconds as JSON."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    for _ in range(GROUPS - 1):
        dist.new_group([0])
    hook = sys.modules["evenpace_tap.hook"]  # of the tap that watches this process
    heartbeat = hook._State.session.heartbeat
    begun = time.process_time_ns()
    for _ in range(1000):
        heartbeat.round()
    print(json.dumps((time.process_time_ns() - begun) / 1000))


def start_up() -> float:
    """Return the milliseconds that the tap adds to the start of every interpreter (median of 20 pairs)."""
    added = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(20):
            times = []
            for kind in ("native", "off"):
                begun = time.perf_counter()
                subprocess.run([sys.executable, "-c", "pass"], env=tapped(folder, kind), check=True)
                times.append(time.perf_counter() - begun)
            added.append((times[0] - times[1]) * 1000)
    return statistics.median(added)


def tapped(folder: str, kind: str) -> dict[str, str]:
    """Return the environment of a worker under that kind of tap."""
    base = os.environ | {"OMP_NUM_THREADS": "1"}
    return environment(Path(folder), "node", "bench", 0, base, kind).env


def measured(kind: str, *arguments: str, ranks: int = 1) -> Any:
    """Run this file's worker under a tap and return what it printed."""
    launcher = (
        ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks > 1 else []
    )
    command = [sys.executable, *launcher, __file__, *arguments]
    with tempfile.TemporaryDirectory() as folder, watched(folder) if ranks > 1 else nullcontext({}) as beside:
        done = subprocess.run(
            command, env=tapped(folder, kind) | beside, stdout=subprocess.PIPE, text=True, check=True
        )
    return json.loads(done.stdout.splitlines()[-1])


def interval(ratios: np.ndarray) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the median."""
    generator = np.random.default_rng(0)
    medians = np.median(generator.choice(ratios, (4000, ratios.size)), axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    return float(low), float(high)


def iterations(pairs: int) -> tuple[str, bool]:
    """Measure training; return the table and whether the bar is kept."""
    durations = np.array(measured("native", "--worker", "train", "--pairs", str(pairs), ranks=2))
    rows = [
        row(what, durations[:, :, place]) for place, what in enumerate(("time", "processor time, rank 0"))
    ]
    head = ("an iteration's", "without", "with", "median ratio", "95 % interval", "pairs")
    ratios = durations[:, 0, 0] / durations[:, 1, 0]
    low, high = interval(ratios)
    settled = (
        "settles that"
        if high <= BAR or low > BAR
        else "is too wide to settle that: repeat on a quiet machine"
    )
    text = f"Bar: the median ratio of time is at most {BAR}. The interval {settled}."
    return f"{page.table(head, rows)}\n\n{text}", float(np.median(ratios)) <= BAR


def row(what: str, durations: np.ndarray) -> tuple[object, ...]:
    """Return a table's row for pairs of durations in seconds, [with, without]."""
    on, off = np.median(durations, axis=0) / BLOCK * 1000
    ratios = durations[:, 0] / durations[:, 1]
    low, high = interval(ratios)
    return (
        what,
        f"{off:.2f} ms",
        f"{on:.2f} ms",
        f"{np.median(ratios):.4f}",
        f"{low:.4f} to {high:.4f}",
        len(ratios),
    )


def operations() -> str:
    """Measure single calls; return the table."""
    floor = measured("off", "--worker", "calls")[1]
    native = measured("native", "--worker", "calls")
    python = measured("python", "--worker", "calls")[0]
    beat = measured("native", "--worker", "beats")
    rows = [
        ("all_reduce without any tap (floor)", f"{floor:,.0f} ns", ""),
        ("native part preloaded, not recording", f"{native[1]:,.0f} ns", f"{native[1] - floor:+,.0f} ns"),
        ("native tap", f"{native[0]:,.0f} ns", f"{native[0] - native[1]:+,.0f} ns (same process)"),
        ("Python tap", f"{python:,.0f} ns", f"{python - floor:+,.0f} ns"),
        (f"one heartbeat of a worker in {GROUPS} groups, twice a second", f"{beat:,.0f} ns", ""),
        ("start of an interpreter", "", f"{start_up():+.1f} ms"),
    ]
    return page.table(("what", "cost", "added"), rows)


def main() -> int:
    """Run the bench, or one of its workers."""
    parser = argparse.ArgumentParser(description="Measure what the tap costs.")
    parser.add_argument("--pairs", type=int, default=300, help="of blocks with and without")
    parser.add_argument("--write", action="store_true", help="save the tables to docs/benchmarks/overhead.md")
    parser.add_argument("--worker", choices=("train", "calls", "beats", "watch"), help=argparse.SUPPRESS)
    parser.add_argument("--rings", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        workers = {"train": lambda: train(args.pairs), "watch": lambda: watch(args.rings)}
        {**workers, "calls": calls, "beats": beats}[args.worker]()
        return 0
    training, kept = iterations(args.pairs)
    text = f"{INTRODUCTION}\n\n{training}\n\n{operations()}"
    print(text)
    if args.write:
        print(page.save("overhead", "What watching costs", "make bench-overhead", text))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
