"""Freeze where every worker stands, for the judge of hangs."""

from __future__ import annotations

import numpy as np

from evenpace.detect.waitfor import Pending, RankState, Snapshot
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.watch.operations import COLLECTIVES, SEND, Operations, channels, peer_of, sends
from evenpace.watch.worker import Worker

RECENT = 4096


def take(workers: list[Worker], now_ns: int, silence_s: float) -> Snapshot:
    """Freeze the job; a worker that is stopped or silent for `silence_s` (seconds) is not alive."""
    groups = (
        {number: tuple(group.ranks) for number, group in enumerate(workers[0].book.groups)} if workers else {}
    )
    return Snapshot(groups, {worker.id.rank: _state(worker, now_ns, silence_s) for worker in workers})


def _state(worker: Worker, now_ns: int, silence_s: float) -> RankState:
    entered: dict[int, int] = {}
    sent: dict[tuple[int, int], int] = {}
    received: dict[tuple[int, int], int] = {}
    for (group, channel), standing in worker.standings.items():
        if channel == COLLECTIVES:
            entered[group] = standing.entered + 1
        else:
            counts = sent if sends(channel) else received
            counts[group, peer_of(channel)] = standing.entered + 1
    pending = tuple(_pending(one) for one in unfinished(worker))
    return RankState(
        entered=entered,
        sent=sent,
        received=received,
        pending=pending,
        blocked=True if any(one.awaited for one in pending) else None,
        alive=worker.alive and not is_stopped(worker) and heartbeat_age(worker, now_ns) < silence_s,
        active=last_activity_ns(worker) / 1e9,
    )


def unfinished(worker: Worker) -> Operations:
    """Return the operations that a worker entered and that have not completed."""
    recent = worker.window.tail(RECENT)
    open_ones = recent[(recent["complete"] == 0) & ~recent["untold"]]
    lanes = zip(open_ones["group"].tolist(), channels(open_ones).tolist(), strict=True)
    done = np.array([worker.completed(group, channel) for group, channel in lanes], np.int64)
    still_open: Operations = open_ones[open_ones["sequence"] > done]
    return still_open


def _pending(one: Operations) -> Pending:
    return Pending(
        group=int(one["group"]),
        kind=layout.KINDS[int(one["kind"])],
        sequence=int(one["sequence"]),
        since=int(one["enter"]) / 1e9,
        bytes=int(one["bytes"]),
        peer=int(one["peer"]) if one["point_to_point"] else None,
        sends=bool(one["kind"] == SEND),
        awaited=bool(one["waiting"]),
    )


def is_stopped(worker: Worker) -> bool:
    """Tell whether a signal or a tracer holds the worker's process."""
    return worker.process is not None and worker.process.stopped


def heartbeat_age(worker: Worker, now_ns: int) -> float:
    """Return how long ago the worker's Python ran (seconds)."""
    return max(0, now_ns - worker.header.heartbeat_ns) / 1e9


def last_activity_ns(worker: Worker) -> int:
    """Return when the worker last entered an operation or saw one complete."""
    return max(
        (max(standing.entered_ns, standing.completed_ns) for standing in worker.standings.values()),
        default=worker.header.started_ns,
    )
