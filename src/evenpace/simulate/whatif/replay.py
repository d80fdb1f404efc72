"""Replay the graph of a step, many scenarios at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenpace.simulate.traces.model import Floats
from evenpace.simulate.whatif.graph import Graph

Mask = NDArray[np.bool_]
MOST_CELLS = 1 << 23  # numbers held at once


def transfers(graph: Graph, start: Floats, duration: Floats) -> Floats:
    """Return what each operation costs by itself, in seconds, shape [operations, replicas, steps].

    Of an operation in which others take part that is the time from the last one's start to its end (the rest
    was waiting); of any other its duration.
    """
    cost = duration.copy()
    for meeting in graph:
        if meeting.together:
            members = list(meeting.members)
            last = start[members].max(axis=0)
            if meeting.replicas:
                last = np.broadcast_to(last.max(axis=0), last.shape)
            cost[members] = np.maximum(start[members] + duration[members] - last, 0.0)
    return cost


def step_times(graph: Graph, cost: Floats, other: Floats, kept: Mask) -> Floats:
    """Replay the steps with some operations' cost replaced.

    `cost` and `other` are seconds, shape [operations, replicas, steps] (`other` may broadcast); `kept` says
    where `cost` counts, shape [scenarios, operations, replicas]. Return seconds, shape [scenarios, steps].
    """
    operations, replicas, steps = cost.shape
    other = np.broadcast_to(other, cost.shape)
    at_once = max(1, MOST_CELLS // (operations * replicas * steps))
    parts = []
    for first in range(0, len(kept), at_once):
        some = kept[first : first + at_once]
        parts.append(_replay(graph, partial(_chosen, cost, other, some), (len(some), replicas, steps)))
    return np.concatenate(parts)


def alone_times(graph: Graph, cost: Floats, other: Floats) -> Floats:
    """Replay the steps with one replica's cost as it was and all others' replaced, for each replica.

    Arguments as of `step_times`, but `other` is the same for all replicas and steps, shape [operations, 1,
    1]. As the replaced replicas are all alike, one stands for them. Return seconds, shape [replicas, steps].
    """
    _, replicas, steps = cost.shape
    return _replay(graph, partial(_one_and_rest, cost, other), (replicas, 2, steps))


def _chosen(cost: Floats, other: Floats, kept: Mask, member: int) -> Floats:
    return np.asarray(np.where(kept[:, member, :, None], cost[member], other[member]))


def _one_and_rest(cost: Floats, other: Floats, member: int) -> Floats:
    rest = np.broadcast_to(other[member], cost[member].shape)
    return np.stack([cost[member], rest], axis=1)


def _replay(graph: Graph, cost: Callable[[int], Floats], shape: tuple[int, int, int]) -> Floats:
    """Replay with the cost of each operation of `shape`, [scenarios, replicas, steps]."""
    start = np.zeros(shape)
    done = np.zeros((shape[0], shape[2]))
    ends: dict[int, Floats] = {}
    uses = _uses(graph)
    for meeting in graph:
        starts = [_latest(ends, before, start) for before in meeting.before]
        if meeting.together:
            last = starts[0] if len(starts) == 1 else np.maximum.reduce(starts)
            if meeting.replicas:
                last = np.broadcast_to(last.max(axis=1, keepdims=True), last.shape)
            starts = [last] * len(starts)
        for member, began in zip(meeting.members, starts, strict=True):
            ends[member] = began + cost(member)
            if not uses[member]:
                np.maximum(done, ends.pop(member).max(axis=1), out=done)
        for source in _sources(meeting.before):
            uses[source] -= 1
            if not uses[source]:
                np.maximum(done, ends.pop(source).max(axis=1), out=done)
    return done


def _latest(ends: dict[int, Floats], before: tuple[int, ...], start: Floats) -> Floats:
    if not before:
        return start
    found = ends[before[0]]
    for source in before[1:]:
        found = np.maximum(found, ends[source])
    return found


def _sources(before: tuple[tuple[int, ...], ...]) -> Iterator[int]:
    for sources in before:
        yield from sources


def _uses(graph: Graph) -> dict[int, int]:
    """Count how often an operation is waited for: what nobody waits for any more is let go."""
    counts = {member: 0 for meeting in graph for member in meeting.members}
    for meeting in graph:
        for source in _sources(meeting.before):
            counts[source] += 1
    return counts
