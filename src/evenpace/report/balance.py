"""What a slowness cost, and what the answer to it brought: time lost, and lost without the answer.

The loss of an iteration is its duration beyond the healthy level: the median before the first trouble of its
incarnation. Without a strategy, each iteration under it would have lost the median of those between the onset
and the strategy, for as long as the cause was there. Time that training stood still for evenpace is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpace.report.applied import Application, applications, pauses
from evenpace.report.iterations import Floats
from evenpace.report.relief import culprits, still_slow
from evenpace.report.story import Incarnation, Raised, Story

Mask = NDArray[np.bool_]
_HEALTHY = 200  # iterations before the onset in which own time is looked at
_NEAR = 3  # iterations around the time of a pause in which the one that holds it is looked for


@dataclass(frozen=True, slots=True)
class Balance:
    """Seconds: `lost` in all with `paused` among it, and lost had nothing been done.

    `without` is None where no strategy was in force, or where nothing tells what it was worth.
    """

    lost: float
    paused: float
    without: float | None

    @property
    def recovered(self) -> float | None:
        """Return what the answer brought, in seconds; negative where it cost more than that."""
        return None if self.without is None else self.without - self.lost


@dataclass(frozen=True, slots=True)
class Course:
    """The iterations of one incarnation, one value each.

    `excess` is seconds beyond the healthy level without pauses, `would` the same had nothing been done (NaN
    where that is not known); `paused` holds times and seconds of pauses.
    """

    excess: Floats
    would: Floats
    troubled: Mask
    under: dict[Application, Mask]
    paused: list[tuple[float, float]]

    @property
    def treated(self) -> Mask:
        """Return which iterations were under a strategy."""
        return _union(self.under.values(), len(self.excess))

    def balance(self, chosen: Mask, paused: float) -> Balance:
        """Sum up some iterations and the seconds of pauses for them."""
        lost = max(float(self.excess[chosen].sum()), 0.0) + paused
        without = float(self.would[chosen].sum())
        known = bool((self.treated & chosen).any()) and not np.isnan(without)
        return Balance(lost, paused, max(without, 0.0) if known else None)


def under(incarnation: Incarnation, raised: Raised) -> Mask:
    """Return which iterations of the log lie between a finding's onset and its end."""
    numbers = incarnation.iterations.numbers
    if raised.iteration is None or raised.incarnation != incarnation.number:
        return np.zeros(len(numbers), dtype=np.bool_)
    last = np.inf if raised.closed_iteration is None else raised.closed_iteration
    return np.asarray((numbers >= raised.iteration) & (numbers < last))


def course(story: Story, incarnation: Incarnation) -> Course | None:
    """Return the course of an incarnation; None where nothing was wrong, or nothing was healthy before."""
    key = ("course", incarnation.number)
    if key not in story.memo:
        story.memo[key] = _course(story, incarnation)
    found: Course | None = story.memo[key]
    return found


def _course(story: Story, incarnation: Incarnation) -> Course | None:
    log = incarnation.iterations
    durations, times = log.durations, log.times
    mine = [one for one in applications(story) if one.incarnation == incarnation.number]
    covered = {one: during(times, one) for one in mine}
    troubled = _union((under(incarnation, raised) for raised in story.findings.values()), len(log))
    touched = troubled | _union(covered.values(), len(log))
    first = int(np.argmax(touched)) if touched.any() else 0
    if first == 0:
        return None
    paused = sorted(pauses(story, incarnation.number))
    excess = durations - np.median(durations[:first])
    for at, seconds in paused:
        _take_out(excess, times, at, seconds)
    would = _without(story, incarnation, excess, covered, first)
    return Course(excess, would, troubled, covered, paused)


def _without(
    story: Story, incarnation: Incarnation, excess: Floats, covered: dict[Application, Mask], first: int
) -> Floats:
    """Return what each iteration would have lost had nothing been done."""
    would, level = excess.copy(), float("nan")
    own = _OwnTime(incarnation, max(first - _HEALTHY, 0))
    healthy = np.arange(len(excess)) < first
    treated = _union(covered.values(), len(excess))
    for one, mask in covered.items():
        raised = story.findings.get(one.finding) if one.finding is not None else None
        slow = _slow_before(incarnation, one, raised) & ~treated
        level = float(np.median(excess[slow])) if slow.any() else level
        would[mask] = 0.0
        ranks = culprits(raised.finding.subject) if raised else []
        present = still_slow(own.of(ranks), healthy, slow, mask) if ranks else mask
        would[present] = level
    return would


class _OwnTime:
    """Look the own time of slow workers up once, from an iteration on."""

    def __init__(self, incarnation: Incarnation, since: int) -> None:
        self._log, self._since = incarnation.iterations, since
        self._known: dict[tuple[int, ...], Floats] = {}

    def of(self, ranks: list[int]) -> Floats:
        """Return the longest own time of some ranks by iteration; NaN before the first that is looked at."""
        key = tuple(ranks)
        if key not in self._known:
            self._known[key] = self._log.busy_of(ranks, self._since)
        return self._known[key]


def _slow_before(incarnation: Incarnation, one: Application, raised: Raised | None) -> Mask:
    """Return the iterations from a finding's onset to the strategy for it."""
    if raised is None or raised.iteration is None:
        return np.zeros(len(incarnation.iterations), dtype=np.bool_)
    log = incarnation.iterations
    return np.asarray((log.numbers >= raised.iteration) & (log.times <= one.start))


def total(story: Story, incarnation: Incarnation) -> Balance | None:
    """Return the balance of an incarnation; None where nothing is known to be lost."""
    whole = course(story, incarnation)
    if whole is None:
        return None
    return whole.balance(whole.troubled | whole.treated, sum((seconds for _, seconds in whole.paused), 0.0))


def balance_of(story: Story, raised: Raised) -> Balance | None:
    """Return the balance of one finding with the strategies for it; None where that is not known."""
    incarnation = story.incarnations.get(raised.incarnation)
    whole = course(story, incarnation) if incarnation else None
    return _of(whole, incarnation, raised) if incarnation and whole else None


def balances(story: Story) -> dict[int, Balance | None]:
    """Return the balance of every finding, by its number."""
    courses = {one.number: course(story, one) for one in story.in_order()}
    found: dict[int, Balance | None] = {}
    for raised in story.findings.values():
        whole, incarnation = courses.get(raised.incarnation), story.incarnations.get(raised.incarnation)
        found[raised.id] = _of(whole, incarnation, raised) if incarnation and whole else None
    return found


def _of(whole: Course, incarnation: Incarnation, raised: Raised) -> Balance | None:
    mine = [one for one in whole.under if one.finding == raised.id]
    chosen = under(incarnation, raised) | _union((whole.under[one] for one in mine), len(whole.excess))
    ends = [raised.closed, *(one.end for one in mine)]
    end = np.inf if None in ends else max(end for end in ends if end is not None)
    paused = sum((seconds for at, seconds in whole.paused if raised.onset <= at <= end), 0.0)
    return whole.balance(chosen, paused) if chosen.any() else None


def _union(masks: Iterable[Mask], size: int) -> Mask:
    found = np.zeros(size, dtype=np.bool_)
    for mask in masks:
        found |= mask
    return found


def during(times: Floats, one: Application) -> Mask:
    """Return the iterations that were complete while a strategy was in force."""
    return np.asarray((times > one.start) & (times <= (np.inf if one.end is None else one.end)))


def _take_out(excess: Floats, times: Floats, at: float, seconds: float) -> None:
    """Take a pause out of the iteration that holds it, where one near its time does: it counts by itself."""
    place = int(np.searchsorted(times, at, side="right"))
    near = slice(max(place - _NEAR, 0), place + _NEAR + 1)
    if not len(excess[near]):
        return
    longest = near.start + int(np.argmax(excess[near]))
    if excess[longest] >= seconds / 2:
        excess[longest] = max(excess[longest] - seconds, 0.0)
