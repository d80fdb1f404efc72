"""Micro-batches are timed where they are computed, and never waited for."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.torch


class Event:
    """An event of a device: it is done when the device has come to `device`."""

    now = 0
    device = -1

    def record(self) -> None:
        self.at = Event.now

    def query(self) -> bool:
        return Event.device >= self.at

    def elapsed_time(self, other: Event) -> float:
        return float(other.at - self.at)  # milliseconds


def test_the_host_is_timed_by_its_clock() -> None:
    from evenpace.torch.stopwatch import HostStopwatch

    times = iter([1.0, 1.5])
    watch = HostStopwatch(lambda: next(times))
    watch.start()
    assert watch.stop() == [0.5]


def test_a_device_is_timed_once_it_has_come_so_far() -> None:
    from evenpace.torch.stopwatch import DeviceStopwatch

    watch = DeviceStopwatch(Event)
    results = []
    for start, end, device in [(0, 30, 10), (30, 70, 35), (70, 80, 90)]:
        Event.now = start
        watch.start()
        Event.now, Event.device = end, device
        results.append(watch.stop())
    assert results == [[], [0.03], [0.04, 0.01]]


def test_pace_follows_a_worker_that_has_become_slow() -> None:
    from evenpace.torch.stopwatch import Pace

    pace = Pace()
    assert pace.step([]) == (0, 0)
    steps: list[Any] = [[0.1] * 4, [0.1] * 4, [0.2] * 3, [0.2] * 3]
    paces = [pace.step(step) for step in steps]
    assert [usual for usual, _ in paces] == [100_000_000, 100_000_000, 100_000_000, 200_000_000]
    assert [now for _, now in paces] == [100_000_000, 100_000_000, 200_000_000, 200_000_000]
    assert pace.step([]) == (200_000_000, 200_000_000)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0, 1e308])
def test_what_cannot_be_was_not_measured(seconds: float) -> None:
    from evenpace.torch.stopwatch import Pace

    assert Pace().step([seconds, 0.5]) == (500_000_000, 500_000_000)
