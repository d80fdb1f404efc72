"""Does evenpace see the iteration of scripts that know nothing of it? Its figures against their timers.

python benchmarks/zero_touch.py [--steps 120] [--write]

Four layouts, unchanged, under `evenpace run`. Exit code 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import page
import torch
import torch.distributed as dist
from watched import RANKS, ROOT, Watched

from evenpace.watch.events import PeriodFound, RunEnded

LAYERS, MICRO_BATCHES, WARM_UP = 4, 4, 20
BAR = 0.02  # of the script's own median
HEAD = ("layout", "operations", "expected", "evenpace (median)", "script (median)", "largest difference")
INTRODUCTION = (
    "Each script runs unchanged. *Operations*: those of one iteration as evenpace recognised it, on ranks 0 "
    f"to {RANKS - 1}. *Expected*: counted without evenpace, from the buckets that DDP reports and from the "
    "number of layers and micro-batches. *Difference*: of the median iteration time, over the ranks, after "
    f"{WARM_UP} iterations."
)


@dataclass(frozen=True)
class Layout:
    """A script, its arguments, and the operations that each rank must show in one iteration."""

    name: str
    script: str
    arguments: tuple[str, ...]
    expected: Callable[[], list[int]]


def ddp_buckets() -> list[int]:
    """Ask DDP itself, on one rank and without evenpace, how many buckets it reduces."""
    sys.path.insert(0, str(ROOT / "examples"))
    from model import GPT  # the examples' own

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = torch.nn.parallel.DistributedDataParallel(GPT(LAYERS, 64, 32), bucket_cap_mb=0.25)
    for _ in range(3):
        model(torch.zeros(1, 32, dtype=torch.long)).sum().backward()
    sizes = model._get_ddp_logging_data()["rebuilt_bucket_sizes"]
    dist.destroy_process_group()
    return [len(sizes.split(","))] * RANKS


def fsdp2_operations() -> list[int]:
    """Count a gather before forward and a reduction after backward for each of layers and root.

    The layers are also gathered again before backward; the root keeps its parameters.
    """
    return [(LAYERS + 1) + LAYERS + (LAYERS + 1)] * RANKS


def pipeline_operations() -> list[int]:
    """Count an activation and a gradient for each micro-batch on each of a stage's one or two links."""
    return [2 * MICRO_BATCHES * ((rank > 0) + (rank < RANKS - 1)) for rank in range(RANKS)]


LAYOUTS = (
    Layout("DDP", "train_ddp.py", (), ddp_buckets),
    Layout("DDP, 4 micro-batches", "train_ddp.py", ("--accumulate=4", "--batch=32"), ddp_buckets),
    Layout("FSDP2", "train_fsdp2.py", (), fsdp2_operations),
    Layout("pipeline, 1F1B", "train_pipeline.py", (f"--micro-batches={MICRO_BATCHES}",), pipeline_operations),
)


@dataclass(frozen=True)
class Seen:
    """What evenpace and the script say about one layout: operations, and median seconds, by rank."""

    layout: Layout
    operations: list[int]
    expected: list[int]
    ours: list[float]
    theirs: list[float]

    @property
    def difference(self) -> float:
        """Return the largest relative difference over the ranks."""
        return max(abs(a / b - 1) for a, b in zip(self.ours, self.theirs, strict=True))


def look(layout: Layout, steps: int) -> Seen:
    """Run one layout to its end and compare."""
    arguments = [f"--steps={steps}", f"--layers={LAYERS}", "--read-ms=30", *layout.arguments]
    expected = layout.expected()
    with (
        tempfile.TemporaryDirectory() as folder,
        Watched(layout.script, [*arguments, f"--timings={folder}/steps"]) as training,
    ):
        training.run.wait(RunEnded, "the end", 300)
        periods = {e.rank: e.operations for e in training.run.events if isinstance(e, PeriodFound)}
        iterations = training.iterations()[WARM_UP:]
        ours = [statistics.median(event.durations[rank] for event in iterations) for rank in range(RANKS)]
        theirs = [own_timer(Path(folder, f"steps.{rank}.json")) for rank in range(RANKS)]
    return Seen(layout, [periods.get(rank, 0) for rank in range(RANKS)], expected, ours, theirs)


def own_timer(path: Path) -> float:
    """Return the median of the script's own step times."""
    return statistics.median(step["seconds"] for step in json.loads(path.read_text())[WARM_UP:])


def main() -> int:
    """Compare all layouts; return the exit code."""
    parser = argparse.ArgumentParser(
        description="Compare evenpace's iterations with the scripts' own timers."
    )
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument(
        "--write", action="store_true", help="save the table to docs/benchmarks/zero_touch.md"
    )
    args = parser.parse_args()
    seen = []
    for layout in LAYOUTS:
        seen.append(look(layout, args.steps))
        print(row(seen[-1]), flush=True)
    missed = [
        f"- missed: {one.layout.name}"
        for one in seen
        if one.operations != one.expected or one.difference > BAR
    ]
    text = page.table(HEAD, [row(one) for one in seen])
    verdict = "\n".join(missed) or f"All bars met: operations exact, times within {BAR:.0%}."
    print(f"\n{text}\n\n{verdict}")
    if args.write:
        body = f"{INTRODUCTION}\n\n{text}\n\n{verdict}"
        page.save("zero_touch", "Zero touch", "make bench-zero-touch", body)
    return 1 if missed else 0


def row(one: Seen) -> list[object]:
    """Return a row of the table."""
    return [
        one.layout.name,
        " ".join(map(str, one.operations)),
        " ".join(map(str, one.expected)),
        f"{1000 * statistics.median(one.ours):.1f} ms",
        f"{1000 * statistics.median(one.theirs):.1f} ms",
        f"{one.difference:.2%}",
    ]


if __name__ == "__main__":
    sys.exit(main())
