"""What measurements mean, beside each other and beside the first of the healthy job."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from evenpace.locate.compute import Times, Worker, judge_compute
from evenpace.locate.links import Edge, LinkTime, judge_links
from evenpace.watch.events import ComputeProbe, LinkProbe

BYTES = 16 << 20
BEYOND = 20.0  # times what was to be expected: no worker that is slow at arithmetic makes a link so slow


@dataclass(frozen=True, slots=True)
class ProbeRequest:
    """Whom and what to measure: ranks at arithmetic, links (source, target) with messages of `bytes`.

    Peers of the ranks are added. Links are compared with each other, so ask for comparable ones as well.
    `healthy`: the job is known to be well, so that later measurements are compared with this one.
    """

    ranks: tuple[int, ...] = ()
    links: tuple[Edge, ...] = ()
    bytes: int = BYTES
    healthy: bool = False


@dataclass(slots=True)
class Reference:
    """What was measured in health: seconds by rank and format, and by link for a byte."""

    compute: dict[int, Times] = field(default_factory=dict)
    links: dict[Edge, float] = field(default_factory=dict)

    def keep(self, workers: Iterable[Worker], links: Iterable[LinkTime], size: int) -> None:
        """Remember a measurement of messages of `size` bytes; the first of each worker and link stays."""
        for worker in workers:
            self.compute.setdefault(worker.rank, worker.times)
        for one in links:
            self.links.setdefault(one.link, one.seconds / size)


@dataclass(frozen=True, slots=True)
class Judge:
    """Compares what comes back for one request. `nodes`: links within one are no peers of those between."""

    request: ProbeRequest
    reference: Reference
    nodes: Mapping[int, str]

    def compute(self, workers: Sequence[Worker]) -> list[ComputeProbe]:
        """Return what each worker took, and what was to be expected."""
        return [
            ComputeProbe(rank=one.rank, seconds=one.seconds, expected=one.expected, wrong=one.wrong)
            for one in judge_compute(workers, self.reference.compute)
        ]

    def slow_ranks(self, workers: Sequence[Worker]) -> set[int]:
        """Return who is slow, or comes to wrong values."""
        verdicts = judge_compute(workers, self.reference.compute)
        return {one.rank for one in verdicts if one.slow or one.wrong}

    def links(self, times: Sequence[LinkTime]) -> list[LinkProbe]:
        """Return what a message took over each link, and what was to be expected."""
        return [
            LinkProbe(
                source=one.link[0],
                target=one.link[1],
                bytes=self.request.bytes,
                seconds=one.seconds,
                expected=one.expected,
            )
            for one in judge_links(times, self._health(), self._kinds(times))
        ]

    def slow_links(self, times: Sequence[LinkTime], slow_ranks: Collection[int]) -> set[Edge]:
        """Return which links are slow; what a slow worker at an end may explain shows that worker only."""
        verdicts = judge_links(times, self._health(), self._kinds(times))
        return {
            one.link
            for one in verdicts
            if one.slow and (one.ratio >= BEYOND or not set(one.link) & set(slow_ranks))
        }

    def missing(self, workers: Sequence[Worker], times: Sequence[LinkTime]) -> str:
        """Say what was asked for and gave no time; empty where everything did."""
        silent = sorted(set(self.request.ranks) - {one.rank for one in workers if one.times})
        without = sorted(set(self.request.links) - {one.link for one in times})
        return listed([*(f"rank {rank}" for rank in silent), *(f"{one} → {two}" for one, two in without)])

    def _health(self) -> dict[Edge, float]:
        return {link: seconds * self.request.bytes for link, seconds in self.reference.links.items()}

    def _kinds(self, times: Sequence[LinkTime]) -> dict[Edge, str]:
        return {one.link: str(self.nodes.get(one.link[0]) == self.nodes.get(one.link[1])) for one in times}


def listed(names: Iterable[str]) -> str:
    """Join the first eight with commas."""
    first = [*islice(names, 9)]
    return ", ".join(first[:8]) + (", …" if len(first) > 8 else "")
