"""When the stages of a 1F1B pipeline are done: its order played through for many pipelines at once."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Layer = tuple[tuple[Indices, Indices], tuple[Indices, Indices]]  # (stages, micro-batches): forward, backward

_MOST = 1 << 22  # numbers kept at once


def ends(forward: Array, backward: Array, message: Array, micro_batches: int) -> Array:
    """Return when each stage has done its last backward, [pipelines, stages]; seconds from the begin.

    `forward`, `backward` [pipelines, stages] are the seconds of a micro-batch, `message` [pipelines,
    stages - 1] those from a stage to the next, or back. Sending keeps nobody from computing, but a link
    carries one message at a time in each direction.
    """
    count, stages = forward.shape
    at_once = max(_MOST // (stages * micro_batches), 1)
    parts = [
        _Played(forward[i:to], backward[i:to], message[i:to], micro_batches).ends()
        for i, to in ((i, i + at_once) for i in range(0, count, at_once))
    ]
    return np.concatenate(parts)


class _Played:
    """The state of the pipelines while they are played through."""

    def __init__(self, forward: Array, backward: Array, message: Array, micro_batches: int) -> None:
        count, stages = forward.shape
        self._forward, self._backward = forward, backward
        self._micro_batches = micro_batches
        self._message = np.zeros((count, stages + 1))  # from the stage before, at either end for nothing
        self._message[:, 1:-1] = message
        self._clock = np.zeros((count, stages))
        self._there = np.zeros((count, stages + 1, micro_batches))  # inputs of forwards
        self._back = np.zeros((count, stages + 1, micro_batches))  # outputs of backwards, where they arrived
        self._link = np.zeros((2, count, stages + 1))  # until when it is busy, forwards and backwards

    def ends(self) -> Array:
        stages = self._clock.shape[1]
        for (stage, number), (back_stage, back_number) in _layers(stages, self._micro_batches):
            self._do_forward(stage, number, stages)
            self._do_backward(back_stage, back_number)
        return self._clock

    def _do_forward(self, stage: Indices, number: Indices, stages: int) -> None:
        done = np.maximum(self._clock[:, stage], self._there[:, stage, number]) + self._forward[:, stage]
        self._clock[:, stage] = done
        arrived = np.maximum(done, self._link[0][:, stage + 1]) + self._message[:, stage + 1]
        self._link[0][:, stage + 1] = self._there[:, stage + 1, number] = arrived
        last = stage == stages - 1
        self._back[:, stages, number[last]] = done[:, last]

    def _do_backward(self, stage: Indices, number: Indices) -> None:
        done = np.maximum(self._clock[:, stage], self._back[:, stage + 1, number]) + self._backward[:, stage]
        self._clock[:, stage] = done
        arrived = np.maximum(done, self._link[1][:, stage]) + self._message[:, stage]
        self._link[1][:, stage] = self._back[:, stage, number] = arrived


@lru_cache(maxsize=32)
def _layers(stages: int, micro_batches: int) -> tuple[Layer, ...]:
    """Return the tasks of all stages in layers: what a layer needs, an earlier one has done."""
    pending = [_order(stage, stages, micro_batches) for stage in range(stages)]
    at = [0] * stages
    forwards, backwards = [0] * (stages + 1), [0] * (stages + 1)  # done by stage; shifted for backwards
    forwards[stages] = backwards[stages] = 0
    layers = []
    while any(at[stage] < len(pending[stage]) for stage in range(stages)):
        ready = []
        for stage in range(stages):
            if at[stage] == len(pending[stage]):
                continue
            is_backward, number = pending[stage][at[stage]]
            if is_backward:
                known = forwards[stage] if stage == stages - 1 else backwards[stage + 1]
            else:
                known = micro_batches if stage == 0 else forwards[stage - 1]
            if number < known:
                ready.append((stage, is_backward, number))
        for stage, is_backward, _ in ready:
            at[stage] += 1
            (backwards if is_backward else forwards)[stage] += 1
        layers.append((_indices(ready, False), _indices(ready, True)))
    return tuple(layers)


def _indices(ready: list[tuple[int, bool, int]], backward: bool) -> tuple[Indices, Indices]:
    chosen = [(stage, number) for stage, is_backward, number in ready if is_backward is backward]
    stages, numbers = zip(*chosen, strict=True) if chosen else ((), ())
    return np.array(stages, dtype=np.intp), np.array(numbers, dtype=np.intp)


def _order(stage: int, stages: int, micro_batches: int) -> list[tuple[bool, int]]:
    """Return (is backward, micro-batch) in 1F1B's order: fill, one of each in turn, drain."""
    ahead = min(stages - 1 - stage, micro_batches)
    tasks = [(False, number) for number in range(ahead)]
    for number in range(ahead, micro_batches):
        tasks += [(False, number), (True, number - ahead)]
    return tasks + [(True, number) for number in range(micro_batches - ahead, micro_batches)]
