"""How long a micro-batch takes, by the clock of whatever computes it; never by waiting for it."""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import torch

LATEST = 3  # steps over which the median is taken: few, so that it follows a worker that has become slow
_LONGEST = 1e9  # seconds: what is said to take longer, or is no number, was not measured
_UNDER_WAY = 64  # micro-batches whose events are kept until the device has come to them


class HostStopwatch:
    """Times by the host's clock: for computation on CPUs."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._began = 0.0

    def start(self) -> None:
        """A micro-batch begins."""
        self._began = self._clock()

    def stop(self) -> list[float]:
        """It ends; return the seconds of those that are done and were not returned yet."""
        return [self._clock() - self._began]


class DeviceStopwatch:
    """Times by events in the device's stream: the host has long gone on when a micro-batch is computed."""

    def __init__(self, event: Callable[[], Any]) -> None:
        self._event = event
        self._began: Any = None
        self._pending: deque[tuple[Any, Any]] = deque(maxlen=_UNDER_WAY)

    def start(self) -> None:
        """A micro-batch begins."""
        self._began = self._event()
        self._began.record()

    def stop(self) -> list[float]:
        """It ends; return the seconds of those that are done and were not returned yet."""
        ended = self._event()
        ended.record()
        self._pending.append((self._began, ended))
        done = []
        while self._pending and self._pending[0][1].query():
            began, ended = self._pending.popleft()
            done.append(began.elapsed_time(ended) / 1000)
        return done


class Pace:
    """The median over the latest steps."""

    def __init__(self) -> None:
        self._steps: deque[list[float]] = deque(maxlen=LATEST)

    def step(self, seconds: list[float]) -> tuple[int, int]:
        """Take a step's times; return the median over the latest steps, and of this one, in nanoseconds.

        A step without any leaves what was known; 0 before the first.
        """
        measured = [one for one in seconds if 0 <= one < _LONGEST]
        if measured:
            self._steps.append(measured)
        known = [one for step in self._steps for one in step]
        return _nanoseconds(known), _nanoseconds(measured or known)


def _nanoseconds(seconds: list[float]) -> int:
    return int(1e9 * statistics.median(seconds)) if seconds else 0


def stopwatch() -> HostStopwatch | DeviceStopwatch:
    """Return the one for where this process computes."""
    cuda: Any = torch.cuda
    if cuda.is_available() and cuda.is_initialized():
        return DeviceStopwatch(lambda: cuda.Event(enable_timing=True))
    return HostStopwatch()
