"""What slowness has cost a run until now and what strategies brought, in bounded memory."""

from __future__ import annotations

from statistics import median

from msgspec.structs import replace

from evenpace.report.balance import total
from evenpace.report.story import Story
from evenpace.watch import events as ev

_MOST = 20_000  # iterations held; more than that only while something is wrong
_KEPT = 2_000  # of them, as the healthy level of what comes
_EVERY = 20  # iterations between two sums


class PaceBook:
    """Take in the events of a run; `lost` and `recovered` are seconds until the latest sum."""

    def __init__(self) -> None:
        self.lost = self.recovered = 0.0
        self._before = (0.0, 0.0)  # of what is no longer held
        self._story = Story()
        self._held: list[ev.Iteration] = []

    def add(self, event: ev.Event) -> None:
        """Take one event in."""
        if isinstance(event, ev.Iteration):
            self._iteration(event)
            return
        if isinstance(event, ev.IncarnationStarted):
            self._fold([])
        self._story.add(event)
        if isinstance(event, ev.FindingRaised | ev.FindingClosed | ev.Adapted | ev.Probed):
            self._sum()

    def _iteration(self, event: ev.Iteration) -> None:
        if not event.durations:
            return
        middle = median(event.durations)
        slim = replace(event, ranks=[0], durations=[middle], busy=[0.0], waiting=[0.0], waiting_by_group={})
        self._story.add(slim)
        self._held.append(slim)
        if self._troubled() and len(self._held) % _EVERY == 0:
            self._sum()
        elif len(self._held) > _MOST and not self._troubled():
            self._sum()
            self._fold(self._held[-_KEPT:])

    def _troubled(self) -> bool:
        open_findings = any(one.closed is None for one in self._story.findings.values())
        return open_findings or len(self._in_force()) > 0

    def _in_force(self) -> set[str]:
        actions = {one.strategy: one.action for _, one in self._story.adapted if not one.failed}
        return {name for name, action in actions.items() if action == "apply"}

    def _sum(self) -> None:
        balances = [total(self._story, one) for one in self._story.in_order()]
        lost, recovered = self._before
        self.lost = lost + sum(one.lost for one in balances if one)
        self.recovered = recovered + sum(one.recovered or 0.0 for one in balances if one)

    def _fold(self, kept: list[ev.Iteration]) -> None:
        """Begin anew with the iterations kept."""
        self._sum()
        self._before = (self.lost, self.recovered)
        self._story, self._held = Story(), []
        for one in kept:
            self._story.add(one)
            self._held.append(one)
