from __future__ import annotations

import numpy as np

from evenpace.findings import Subject
from evenpace.report.relief import culprits, still_slow

PLACES = np.arange(80)
HEALTHY, SLOW, UNDER = PLACES < 20, (PLACES >= 20) & (PLACES < 30), (PLACES >= 30) & (PLACES < 70)


def own_time(relief: int, eased: float = 0.6) -> np.ndarray:
    busy = np.where(PLACES < 20, 1.0, 1.6)
    busy = np.where(PLACES >= 30, 1.6 * eased, busy)
    return np.where(relief <= PLACES, eased, busy)


def test_the_cause_is_there_until_own_time_falls_back() -> None:
    found = still_slow(own_time(55), HEALTHY, SLOW, UNDER)
    assert abs(int(np.flatnonzero(found)[-1]) - 54) <= 3
    assert found[UNDER].sum() == found.sum()


def test_it_is_there_to_the_end_where_own_time_never_falls_back() -> None:
    assert (still_slow(own_time(99), HEALTHY, SLOW, UNDER) == UNDER).all()


def test_a_short_calm_is_no_relief() -> None:
    busy = own_time(99)
    busy[45:47] = 0.6
    assert (still_slow(busy, HEALTHY, SLOW, UNDER) == UNDER).all()


def test_a_late_burst_is_not_the_cause_again() -> None:
    busy = own_time(45)
    busy[62:69] = 1.6
    assert abs(int(np.flatnonzero(still_slow(busy, HEALTHY, SLOW, UNDER))[-1]) - 44) <= 3


def test_own_time_that_tells_nothing() -> None:
    for busy in (np.full(80, np.nan), np.ones(80)):
        assert (still_slow(busy, HEALTHY, SLOW, UNDER) == UNDER).all()
    assert (still_slow(own_time(55), HEALTHY, SLOW, PLACES == 31) == (PLACES == 31)).all()


def test_culprits_are_slow_workers_and_no_ends_of_a_link() -> None:
    assert culprits(Subject("rank", rank=3)) == [3]
    assert culprits(Subject("rank", rank=[3, 4])) == [3, 4]
    assert culprits(Subject("link", rank=[3, 4])) == []
    assert culprits(Subject("job")) == []
