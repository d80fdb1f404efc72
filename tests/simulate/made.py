"""Traces made by following a schedule operation by operation, in the layout of what-if analysis."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

COLUMNS = [
    *("dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mb_id", "mc", "gmc"),
]
Row = dict[str, int | float | str]
Compute = tuple[str, int, int]  # forward or backward, micro-batch, chunk over the whole model


def even(replica: int, stage: int, step: int, mb: int) -> float:
    """Return the work of a micro-batch where all are alike."""
    return 1.0


def quick(direction: str, replica: int, stage: int) -> float:
    """Return the seconds of a transfer where all are alike."""
    return 0.01


@dataclass(frozen=True)
class Job:
    """A job to trace. `work` is seconds of a forward (a backward takes twice), `transfer` of one message."""

    replicas: int = 4
    stages: int = 2
    micro_batches: int = 4
    chunks: int = 1  # model chunks a stage
    steps: int = 20
    work: Callable[[int, int, int, int], float] = even
    transfer: Callable[[str, int, int], float] = quick
    tail: dict[str, float] = field(default_factory=lambda: {"layernorm-grads-all-reduce": 0.002})

    def order(self, stage: int) -> list[Compute]:
        """Return a stage's computations in order: 1F1B, or all forwards first where there are chunks."""
        mbs = range(self.micro_batches)
        if self.chunks > 1:
            own = [chunk * self.stages + stage for chunk in range(self.chunks)]
            forwards = [("forward", mb, chunk) for chunk in own for mb in mbs]
            return [*forwards, *(("backward", mb, chunk) for chunk in reversed(own) for mb in mbs)]
        warm = min(self.stages - stage - 1, self.micro_batches)
        found = [("forward", mb, stage) for mb in range(warm)]
        for mb in range(warm, self.micro_batches):
            found += [("forward", mb, stage), ("backward", mb - warm, stage)]
        return [
            *found,
            *(("backward", mb, stage) for mb in range(self.micro_batches - warm, self.micro_batches)),
        ]


def trace(job: Job) -> list[Row]:
    """Return the rows of a trace."""
    return [row for step in range(job.steps) for row in _step(job, step)]


def write(path: Path, rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> Path:
    """Write rows as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def _step(job: Job, step: int) -> list[Row]:
    rows: list[Row] = []
    ends = {}
    for replica in range(job.replicas):
        own, computed = _pipeline(job, replica, step)
        rows += own
        ends |= {(replica, stage): end for stage, end in enumerate(computed)}
    return rows + _after(job, step, ends)


def _row(job: Job, step: int, replica: int, stage: int, kind: str, seq: int, start: float, end: float) -> Row:
    row = {"dp_rank": replica, "stage": stage, "rank": replica * job.stages + stage, "step": 10 * step + 3}
    times = {"optype": kind, "start_ts": start, "duration": end - start, "seq_id": seq}
    return row | times | {"mb_id": -1, "mc": -1, "gmc": -1}


def _pipeline(job: Job, replica: int, step: int) -> tuple[list[Row], list[float]]:
    """Follow one replica until all stages have computed; return rows, and when each stage was done."""
    last = job.chunks * job.stages - 1
    orders = [job.order(stage) for stage in range(job.stages)]
    rows: list[Row] = []

    def home(chunk: int) -> int:
        return chunk % job.stages

    def neighbours(stage: int, one: Compute) -> list[Compute]:
        """Return the computations of a stage in one direction that have a transfer, in order."""
        source = -1 if one[0] == "forward" else 1
        return [c for c in orders[stage] if c[0] == one[0] and 0 <= c[2] + source <= last]

    @cache
    def compute(stage: int, one: Compute) -> float:
        at = orders[stage].index(one)
        start = compute(stage, orders[stage][at - 1]) if at else 0.0
        direction, mb, chunk = one
        source = chunk - 1 if direction == "forward" else chunk + 1
        if 0 <= source <= last:
            start = max(start, received(stage, one))
        seconds = job.work(replica, stage, step, mb) * (1 if direction == "forward" else 2) / job.chunks
        seq = [c for c in orders[stage] if c[0] == direction].index(one)
        row = _row(job, step, replica, stage, f"{direction}-compute", seq, start, start + seconds)
        rows.append(row | {"mb_id": mb, "mc": chunk // job.stages, "gmc": chunk})
        return start + seconds

    @cache
    def received(stage: int, one: Compute) -> float:
        """Return when the input of a computation is there; write the send and the receive."""
        direction, mb, chunk = one
        source = (direction, mb, chunk - 1 if direction == "forward" else chunk + 1)
        sender = home(source[2])
        same = [c for c in orders[stage] if c[0] == direction]
        inputs = neighbours(stage, one)
        posted = compute(stage, same[same.index(one) - 1]) if same.index(one) else 0.0
        if inputs.index(one):
            posted = max(posted, received(stage, inputs[inputs.index(one) - 1]))
        outputs = [c for c in orders[sender] if c[0] == direction and 0 <= c[2] + chunk - source[2] <= last]
        sent = compute(sender, source)
        if before := outputs.index(source):
            goes = (direction, outputs[before - 1][1], outputs[before - 1][2] + chunk - source[2])
            sent = max(sent, received(home(goes[2]), goes))
        end = max(posted, sent) + job.transfer(direction, replica, sender)
        rows.append(_row(job, step, replica, stage, f"{direction}-recv", inputs.index(one), posted, end))
        rows.append(_row(job, step, replica, sender, f"{direction}-send", outputs.index(source), sent, end))
        return end

    done = [max(compute(stage, one) for one in orders[stage]) for stage in range(job.stages)]
    return rows, done


def _after(job: Job, step: int, ends: dict[tuple[int, int], float]) -> list[Row]:
    """Return what follows the backwards: gradients over replicas, the clip over all, the optimizer."""
    rows: list[Row] = []
    now = dict(ends)
    for kind, seconds in job.tail.items():
        for place, start in list(now.items()):
            now[place] = start + seconds
            rows.append(_row(job, step, *place, kind, 0, start, now[place]))
    scattered = {
        place: max(end for other, end in now.items() if other[1] == place[1]) + 0.05 for place in now
    }
    rows += [
        _row(job, step, *place, "grads-reduce-scatter", 0, now[place], scattered[place]) for place in now
    ]
    clipped = max(scattered.values()) + 0.01
    for place, start in scattered.items():
        rows.append(_row(job, step, *place, "optimizer-clip-main-grad", 0, start, clipped))
        rows.append(_row(job, step, *place, "optimizer", 0, clipped, clipped + 0.02))
    return rows
