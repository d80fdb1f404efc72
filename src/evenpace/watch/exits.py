"""Watch workers end: tell of each end, and when the ends have settled, judge them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from evenpace.collect.job.logs import (
    LoggedExit,
    LogLine,
    closed_by_agent,
    last_error_lines,
    logged_exits,
    read_tail,
    signal_name,
)
from evenpace.findings import Finding
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.watch.crash import WorkerEnd, judge_agent, judge_crash
from evenpace.watch.events import Event, WorkerExited, stamp
from evenpace.watch.operations import COLLECTIVES
from evenpace.watch.worker import Worker

SETTLE_S = 4.0  # from the first abnormal end until the judgement, where not all have ended before
WORD_S = 2.0  # how long a death may wait for its log to say why


@dataclass(slots=True)
class ExitWatch:
    """Follow the ends of one incarnation's workers and agents. Times are epoch seconds."""

    incarnation: int
    logs: dict[str, Path]
    judge_desync: Callable[[list[Worker], float], Finding | None]
    told: dict[int, WorkerEnd] = field(default_factory=dict)
    agents: dict[str, tuple[int | None, float]] = field(default_factory=dict)
    judged: bool = False
    _first_failure: float | None = None

    def agent_exited(self, node: str, code: int | None, at: float) -> None:
        """Remember that a node's agent ended."""
        self.agents.setdefault(node, (code, at))
        if code != 0:
            self._first_failure = self._first_failure or at

    @property
    def failing(self) -> bool:
        """Tell whether something ended that should not have."""
        return self._first_failure is not None

    def poll(self, workers: list[Worker], now: float) -> tuple[list[Event], Finding | None]:
        """Return the ends that became known, and the judgement once there is one."""
        events: list[Event] = []
        tails = _Tails(self.logs)
        for worker in workers:
            end = self._end_of(worker, tails, now)
            if end.how != "alive" and worker.id.rank not in self.told:
                self.told[worker.id.rank] = end
                events.append(self._event(end, now))
                if end.how != "clean" or end.code:
                    self._first_failure = self._first_failure or now
        return events, self._judge(workers, tails, now)

    def _judge(self, workers: list[Worker], tails: _Tails, now: float) -> Finding | None:
        if self.judged or self._first_failure is None:
            return None
        all_ended = bool(workers) and len(self.told) == len(workers)
        if not all_ended and now - self._first_failure < SETTLE_S:
            return None
        self.judged = True
        ends = [self._final_end(worker, workers, tails, now) for worker in workers]
        return (
            self._lost_agent(tails)
            or self.judge_desync(workers, now)
            or judge_crash(ends)
            or self._failed_agent(tails)
        )

    def settled(self, workers: list[Worker]) -> bool:
        """Tell whether all workers have ended and, if one failed, the judgement was given."""
        return len(self.told) == len(workers) and (self.judged or self._first_failure is None)

    def _end_of(self, worker: Worker, tails: _Tails, now: float) -> WorkerEnd:
        header = worker.header
        at = _wall(header.exited_ns or worker.died_ns, worker)
        if header.state == layout.STATE_EXCEPTION:
            return WorkerEnd(worker.id, "exception", at, exception=header.exception)
        if header.state == layout.STATE_EXITED:
            return WorkerEnd(worker.id, "clean", at, code=_exit_code(worker, tails))
        if worker.alive:
            return WorkerEnd(worker.id, "alive", now)
        return _death(worker, tails, at, now)

    def _final_end(self, worker: Worker, workers: list[Worker], tails: _Tails, now: float) -> WorkerEnd:
        end = self._end_of(worker, tails, now)
        return replace(end, owed_collective=_owes(worker, workers)) if end.how == "clean" else end

    def _event(self, end: WorkerEnd, now: float) -> WorkerExited:
        worker = end.worker
        return WorkerExited(
            time=stamp(now),
            incarnation=self.incarnation,
            rank=worker.rank,
            node=worker.node,
            pid=worker.pid,
            how=end.how,
            exception=end.headline,
            signal=end.signal,
            code=end.code,
        )

    def _lost_agent(self, tails: _Tails) -> Finding | None:
        """Judge an agent that was killed: its workers' ends are consequences."""
        for node, (code, at) in self.agents.items():
            if (
                code is not None
                and code < 0
                and not any(end.worker.node == node for end in self._causes_before(at))
            ):
                return judge_agent(node, code, signal_name(-code), last_error_lines(tails[node]), at)
        return None

    def _causes_before(self, at: float) -> list[WorkerEnd]:
        return [
            end for end in self.told.values() if end.at < at and (end.how in ("exception", "killed", "gone"))
        ]

    def _failed_agent(self, tails: _Tails) -> Finding | None:
        watched = {end.worker.node for end in self.told.values()}
        failed = [
            (at, node, code) for node, (code, at) in self.agents.items() if code and node not in watched
        ]
        if not failed:
            return None
        at, node, code = min(failed)
        return judge_agent(node, code, "", last_error_lines(tails[node]), at)


def _death(worker: Worker, tails: _Tails, at: float, now: float) -> WorkerEnd:
    """Say how a process without a last word died; `alive` for a moment while its log may still tell."""
    lines = tails[worker.id.node]
    exits, closed = logged_exits(lines), closed_by_agent(lines)
    pid = worker.id.pid
    if pid in closed:
        return WorkerEnd(worker.id, "killed", at, signal=closed[pid])
    if pid in exits:
        return _logged_death(worker, exits[pid], at, lines)
    if now - at < WORD_S:
        return WorkerEnd(worker.id, "alive", now)
    return WorkerEnd(worker.id, "gone", at)


def _exit_code(worker: Worker, tails: _Tails) -> int | None:
    """Return the code of a worker that ended in order: its own word, else its log's, else None."""
    if worker.header.exit_code >= 0:
        return worker.header.exit_code
    logged = logged_exits(tails[worker.id.node]).get(worker.id.pid)
    return logged.code if logged else None


def _logged_death(worker: Worker, logged: LoggedExit, at: float, lines: list[LogLine]) -> WorkerEnd:
    how = "killed" if logged.code < 0 else "clean"
    said = (logged.line, *(line for line in last_error_lines(lines) if line != logged.line))
    return WorkerEnd(worker.id, how, at, code=logged.code, signal=logged.signal_name, lines=said)


def _owes(worker: Worker, workers: list[Worker]) -> bool:
    """Tell whether another worker entered a collective that this one, a member of the group, never did."""
    for other in workers if worker.whole else ():
        for (group, channel), standing in other.standings.items():
            if channel == COLLECTIVES and worker.header.rank in worker.book.groups[group].ranks:
                mine = worker.standings.get((group, channel))
                if standing.entered > (mine.entered if mine else -1):
                    return True
    return False


def _wall(monotonic_ns: int, worker: Worker) -> float:
    return (monotonic_ns + worker.header.wall_offset_ns) / 1e9


class _Tails(dict[str, list[LogLine]]):
    """The logs' tails, read at most once per look and only where somebody asks."""

    def __init__(self, paths: dict[str, Path]) -> None:
        super().__init__()
        self._paths = paths

    def __missing__(self, node: str) -> list[LogLine]:
        path = self._paths.get(node)
        self[node] = read_tail(path) if path else []
        return self[node]
