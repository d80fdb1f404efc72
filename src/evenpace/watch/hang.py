"""Judge a hang: who keeps the stalled job waiting, and is that anything but a long phase that is normal."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from evenpace.detect.waitfor import HangKind, judge, patience, stalled
from evenpace.findings import Finding
from evenpace.watch.mismatch import judge_mismatch
from evenpace.watch.snapshot import is_stopped, take, unfinished
from evenpace.watch.stacks import MOVING_CEILING_S
from evenpace.watch.stall import SHORTEST_S, Stall, elsewhere, named, unnamed
from evenpace.watch.worker import Worker

UNNAMED_FACTOR = 1.5  # a stall without a culprit waits this much longer: a culprit may still show
START_CEILING_S = 600.0  # before the first iteration was recognised, only a stopped process is beyond doubt


@dataclass(slots=True)
class HangWatch:
    """Look for stalls. Feed it the durations of iterations (seconds); ask `look` about twice a second."""

    intervals: deque[float] = field(default_factory=lambda: deque(maxlen=500))
    _suspects: tuple[int, ...] | None = None

    def look(self, workers: list[Worker], now_ns: int, now: float) -> Finding | None:
        """Return what holds the job up, once it has held it up for too long; None while all is well."""
        limit = patience(self.intervals, minimum=SHORTEST_S)
        since = stall_since(workers, now_ns, limit)
        if since is None:
            self._suspects = None
            return None
        snapshot = take(workers, now_ns, limit)
        verdict = judge(snapshot, (now_ns / 1e9) - limit, {w.id.rank: w.id.node for w in workers})
        steady = self._suspects == verdict.culprits
        self._suspects = verdict.culprits
        if verdict.kind is HangKind.NONE or not steady:
            return None
        return self._decide(Stall(verdict, workers, now_ns / 1e9 - since, limit, now), limit)

    def _decide(self, stall: Stall, limit: float) -> Finding | None:
        if not stall.culprits:
            if stall.waited < self._unnamed_limit(limit):
                return None
            return judge_mismatch(stall.workers, stall.now) or elsewhere(stall) or unnamed(stall)
        if stall.waited < self._ceiling(stall, limit):
            return None
        return judge_mismatch(stall.workers, stall.now) or named(stall)

    def _unnamed_limit(self, limit: float) -> float:
        return UNNAMED_FACTOR * limit if self.intervals else START_CEILING_S

    def _ceiling(self, stall: Stall, limit: float) -> float:
        """Return how long the peers may wait for the culprits, given what these are doing (seconds)."""
        if all(is_stopped(worker) for worker in stall.culprits):
            return limit
        phases = [worker.stacks.phase for worker in stall.culprits]
        longest = max((phase.ceiling for phase in phases if phase), default=0.0)
        if not self.intervals:
            return max(limit, START_CEILING_S, longest)
        return max(limit, longest, 0.0 if stall.stuck else MOVING_CEILING_S)


def stall_since(workers: list[Worker], now_ns: int, limit: float) -> float | None:
    """Return since when (monotonic seconds) the oldest stalled group stands still; None where none does."""
    pending: dict[int, list[float]] = {}
    completed: dict[int, float] = {}
    for worker in workers:
        for one in unfinished(worker) if worker.alive else ():
            pending.setdefault(int(one["group"]), []).append(int(one["enter"]) / 1e9)
        for (group, _channel), standing in worker.standings.items():
            completed[group] = max(completed.get(group, 0.0), standing.completed_ns / 1e9)
    standing_still = [
        max(min(since), completed.get(group, 0.0))
        for group, since in pending.items()
        if stalled(since, completed.get(group, 0.0), now_ns / 1e9, limit)
    ]
    return min(standing_still, default=None)
