"""The recorded iterations of a run folder, in stretches that a detector can be fed anew."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from evenpace.detect.sample import Sample
from evenpace.errors import Problem
from evenpace.simulate.traces.model import HIGHEST_INDEX, Floats, Ints
from evenpace.watch import events as ev
from evenpace.watch.eventlog import LineProblem, read_events

MOST_CELLS = 1 << 23  # iterations times ranks that are kept
LONGEST = 1e6  # seconds; what is longer, or negative, is no measurement
PASSES_ON = ("send", "recv")  # in kinds of operations: ranks of a pipeline do unequal work

Progress = Callable[[int], None]  # events read so far
_REPORT_EVERY = 5_000


@dataclass(slots=True)
class Stretch:
    """Iterations of one incarnation with the same ranks and the same work.

    `roles` says which ranks do the same work; `pipeline` where ranks pass results on to each other.
    """

    incarnation: int
    ranks: tuple[int, ...]
    roles: tuple[str, ...]
    nodes: dict[int, str]
    pipeline: bool
    _numbers: array[int] = field(default_factory=lambda: array("q"))
    _durations: array[float] = field(default_factory=lambda: array("d"))
    _busy: array[float] = field(default_factory=lambda: array("d"))
    _waiting: array[float] = field(default_factory=lambda: array("d"))

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, event: ev.Iteration) -> None:
        """Append an iteration whose ranks are the stretch's."""
        self._numbers.append(event.iteration)
        for kept, values in (
            (self._durations, event.durations),
            (self._busy, event.busy),
            (self._waiting, event.waiting),
        ):
            kept.extend(min(max(value, 0.0), LONGEST) for value in values)

    def numbers(self) -> Ints:
        """Return the number of each iteration."""
        return np.array(self._numbers, dtype=np.int64)

    def arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return durations, busy, waiting and transfer, in seconds, shape [iterations, ranks]."""
        shape = (len(self), len(self.ranks))
        durations, busy, waiting = (
            np.array(one).reshape(shape) for one in (self._durations, self._busy, self._waiting)
        )
        return durations, busy, waiting, np.maximum(durations - busy - waiting, 0.0)

    def samples(self) -> Iterator[Sample]:
        """Yield the iterations as the detector takes them."""
        arrays = self.arrays()
        for number, *rows in zip(self._numbers, *arrays, strict=True):
            yield Sample(number, *rows)


@dataclass(slots=True)
class Recording:
    """What a run's log holds of its pace: stretches, and what was said and decided in the run."""

    name: str = ""
    stretches: list[Stretch] = field(default_factory=list)
    raised: dict[int, ev.FindingRaised] = field(default_factory=dict)
    closed: dict[int, ev.FindingClosed] = field(default_factory=dict)
    decisions: list[ev.Decision] = field(default_factory=list)
    damaged: int = 0  # lines
    unread: int = 0  # iterations beyond what is kept


def read_run(log: Path, progress: Progress | None = None) -> Recording:
    """Read the event log of a run; raises Problem where it holds no iteration."""
    reader, problems = _Reader(), list[LineProblem]()
    for count, event in enumerate(read_events(log, problems), start=1):
        reader.take(event)
        if progress and count % _REPORT_EVERY == 0:
            progress(count)
    recording = reader.recording
    recording.damaged += len(problems)
    if not recording.stretches:
        raise Problem(f"{log} holds no iteration; replay a run whose iterations evenpace recognised")
    return recording


class _Reader:
    """Fold events into a recording."""

    def __init__(self) -> None:
        self.recording = Recording()
        self._kept = 0
        self._nodes: dict[int, dict[int, str]] = {}
        self._kinds: dict[int, dict[int, str]] = {}
        self._fresh: set[int] = set()  # incarnations whose work changed since their last iteration

    def take(self, event: ev.Event) -> None:
        """Take the next event."""
        match event:
            case ev.Iteration():
                self._iteration(event)
            case ev.RunStarted():
                self.recording.name = event.run
            case ev.WorkerJoined():
                self._nodes.setdefault(event.incarnation, {})[event.rank] = event.node
            case ev.PeriodFound():
                self._period(event)
            case ev.FindingRaised():
                self.recording.raised[event.id] = event
            case ev.FindingClosed():
                self.recording.closed[event.id] = event
            case ev.Decision():
                self.recording.decisions.append(event)

    def _period(self, event: ev.PeriodFound) -> None:
        kinds = self._kinds.setdefault(event.incarnation, {})
        said = str(sorted(event.kinds.items()))
        if kinds.get(event.rank, said) != said:
            self._fresh.add(event.incarnation)
        kinds[event.rank] = said

    def _iteration(self, event: ev.Iteration) -> None:
        count = len(event.ranks)
        whole = all(len(one) == count for one in (event.durations, event.busy, event.waiting))
        numbered = all(0 <= number < HIGHEST_INDEX for number in (event.iteration, *event.ranks))
        if not count or not whole or not numbered or len(set(event.ranks)) < count:
            self.recording.damaged += 1
            return
        if self._kept + count > MOST_CELLS:
            self.recording.unread += 1
            return
        self._kept += count
        self._stretch(event).add(event)

    def _stretch(self, event: ev.Iteration) -> Stretch:
        """Return the stretch that an iteration goes on with, a new one where it does not."""
        last = self.recording.stretches[-1] if self.recording.stretches else None
        same = last and last.incarnation == event.incarnation and last.ranks == tuple(event.ranks)
        if last and same and event.incarnation not in self._fresh:
            return last
        self._fresh.discard(event.incarnation)
        kinds = self._kinds.get(event.incarnation, {})
        roles = [kinds.get(rank, "") for rank in event.ranks]
        pipeline = any(word in role for role in roles for word in PASSES_ON)
        if pipeline:  # the log does not say who is at which stage: nobody is compared with another
            roles = [f"{role} {rank}" for role, rank in zip(roles, event.ranks, strict=True)]
        stretch = Stretch(
            event.incarnation,
            tuple(event.ranks),
            tuple(roles),
            self._nodes.get(event.incarnation, {}),
            pipeline,
        )
        self.recording.stretches.append(stretch)
        return stretch
