"""One probe after the other: started and asked for by the supervisor, done in a thread."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from evenpace.locate.compute import Worker
from evenpace.locate.links import LinkTime
from evenpace.respond.clock import Clock
from evenpace.respond.probing import announcing, measuring
from evenpace.respond.probing.judging import Judge, ProbeRequest, Reference, listed
from evenpace.respond.probing.meeting import Cancelled, Meeting
from evenpace.terms import say
from evenpace.watch.events import Probed

COME_SECONDS = 60.0  # until the first worker has come to the step
GATHER_SECONDS = 4.0  # from the first until the last: a step ends within little time everywhere
PEERS = 64  # workers that multiply at once, beside the suspects


@dataclass(frozen=True, slots=True)
class _Outcome:
    workers: list[Worker] = field(default_factory=list)
    links: list[LinkTime] = field(default_factory=list)
    passes: int = 0


class Probing:
    """Probes of one incarnation. `ring_paths` has a ring for every rank; `folder` (theirs) takes the socket.

    `nodes` tells links within a node from those between nodes: only alike ones are compared.
    """

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        ring_paths: Mapping[int, Path],
        folder: Path,
        clock: Clock | None = None,
        incarnation: int = 0,
        lang: str = "en",
        nodes: Mapping[int, str] | None = None,
    ) -> None:
        self.reference = Reference()
        self._rings, self._folder = dict(ring_paths), folder
        self._clock = clock or Clock()
        self._incarnation, self._lang = incarnation, lang
        self._nodes = dict(nodes or {})
        self._versions = count(1)
        self._cancelled = threading.Event()
        self._thread: threading.Thread | None = None
        self._done: Probed | None = None

    @property
    def busy(self) -> bool:
        """Tell whether a probe has been started whose outcome was not given out yet."""
        return self._thread is not None

    def start(self, request: ProbeRequest) -> bool:
        """Begin a probe and return at once; False where one is under way already."""
        if self.busy:
            return False
        self._done = None
        self._cancelled = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(request, self._cancelled), name="evenpace-probe", daemon=True
        )
        self._thread.start()
        return True

    def poll(self) -> Probed | None:
        """Return the outcome once it is there, one time; never blocks."""
        if self._thread is None or self._thread.is_alive():
            return None
        self._thread, done = None, self._done
        return done

    def cancel(self) -> None:
        """Let all go on; there will be no outcome. Waits for at most a second."""
        self._cancelled.set()
        if self._thread is not None:
            self._thread.join(1.0)
        self._thread = None

    def _run(self, request: ProbeRequest, cancelled: threading.Event) -> None:
        try:
            self._done = self._probe(request, cancelled)
        except Cancelled:
            return
        except Exception as error:
            self._done = self._failed(say("probing-error", self._lang, error=repr(error)))

    def _probe(self, request: ProbeRequest, cancelled: threading.Event) -> Probed:
        step = announcing.choose(self._rings, cancelled.wait)
        if step is None:
            return self._failed(say("probing-no-steps", self._lang))
        version = next(self._versions)
        path = self._folder / f"probe-{self._incarnation}-{version}.sock"
        judge = Judge(request, self.reference, self._nodes)
        outcome = _Outcome()
        with Meeting(path, cancelled) as meeting:
            with announcing.Announcement(self._rings, version, step, path):
                absent = self._gather(meeting, step)
            if not absent:
                outcome = self._measure(meeting, judge)
        if absent:
            return self._failed(absent, step, meeting.pause)
        return self._told(judge, outcome, step, meeting.pause)

    def _measure(self, meeting: Meeting, judge: Judge) -> _Outcome:
        request = judge.request
        workers = measuring.compute(meeting, self._with_peers(request.ranks), judge.slow_ranks)
        slow = judge.slow_ranks(workers)
        times, passes = measuring.links(
            meeting, request.links, request.bytes, lambda times: judge.slow_links(times, slow)
        )
        return _Outcome(workers, times, passes)

    def _with_peers(self, suspects: Sequence[int]) -> list[int]:
        """Return suspects and whom to compare them with: all where there are few, else some spread evenly."""
        everyone = sorted(self._rings)
        if not suspects or len(everyone) <= PEERS:
            return everyone if suspects else []
        return sorted({*suspects, *everyone[:: len(everyone) // PEERS]})

    def _gather(self, meeting: Meeting, step: int) -> str:
        """Wait for all workers; say who did not come, or nothing."""
        everyone = set(self._rings)
        meeting.until(lambda: bool(meeting.present or self._missed(meeting, step)), COME_SECONDS)
        if meeting.present:
            meeting.until(
                lambda: everyone <= meeting.present or bool(self._missed(meeting, step)), GATHER_SECONDS
            )
        absent = sorted(everyone - meeting.present)
        missed = self._missed(meeting, step)
        if absent and not (meeting.present or missed):
            return say("probing-nobody", self._lang, step=step)
        ranks = listed(map(str, missed or absent))
        return say("probing-absent", self._lang, step=step, ranks=ranks) if absent else ""

    def _missed(self, meeting: Meeting, step: int) -> list[int]:
        """Return who will not come any more: it has passed the step, or has ended."""
        absent = {rank: path for rank, path in self._rings.items() if rank not in meeting.present}
        made = announcing.steps(absent)
        return [rank for rank in sorted(absent) if made.get(rank, step + 1) > step]

    def _told(self, judge: Judge, outcome: _Outcome, step: int, pause: float) -> Probed:
        slow_ranks = judge.slow_ranks(outcome.workers)
        slow_links = judge.slow_links(outcome.links, slow_ranks)
        probed = Probed(
            time=self._clock.stamp(),
            incarnation=self._incarnation,
            step=step,
            pause=pause,
            passes=outcome.passes,
            compute=judge.compute(outcome.workers),
            links=judge.links(outcome.links),
            slow_ranks=sorted(slow_ranks),
            slow_links=sorted(slow_links),
            failed=self._incomplete(judge.missing(outcome.workers, outcome.links)),
        )
        if judge.request.healthy and not slow_ranks and not slow_links:
            self.reference.keep(outcome.workers, outcome.links, judge.request.bytes)
        return probed

    def _incomplete(self, missing: str) -> str:
        return say("probing-incomplete", self._lang, missing=missing) if missing else ""

    def _failed(self, why: str, step: int = 0, pause: float = 0.0) -> Probed:
        return Probed(
            time=self._clock.stamp(),
            incarnation=self._incarnation,
            step=step,
            pause=pause,
            passes=0,
            failed=why,
        )
