"""Keep one job going: start it, watch it, decide, and start it again where the policy says so.

Each incarnation has a watcher of its own, and nothing of the last one decides about the next. Whatever fails
on our side ends at most the watching, never the training.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from evenpace.errors import Problem
from evenpace.respond.checkpoints import Checkpoint, Skipped, newest_valid, set_aside
from evenpace.respond.incarnation import POLL, Incarnation
from evenpace.respond.interrupts import ENDING
from evenpace.respond.judging import Act, decision, judge
from evenpace.respond.mitigation.mitigation import Mitigation
from evenpace.respond.parts import Parts
from evenpace.respond.starting import start
from evenpace.watch.eventlog import read_events
from evenpace.watch.events import (
    CheckpointSkipped,
    FindingClosed,
    IncarnationEnded,
    IncarnationStarted,
    RunEnded,
    RunStarted,
    WatchAttached,
)

GRACE = 2.0  # seconds for agents to end by themselves; a stopped or hung worker never does
GAVE_UP = 75  # EX_TEMPFAIL of sysexits.h
UNKNOWN = 1  # how the job ended is not known: never taken for success


class Supervisor:
    """Run one job, or go on with one. `run` and `attach` return the exit code for evenpace.

    That is the job's own code where the job ended by itself, or GAVE_UP where the policy gave up.
    """

    def __init__(self, job: RunStarted, parts: Parts) -> None:
        self._job = job
        self._parts = parts
        self._recorder = parts.recorder
        self._clock = parts.clock
        self._interrupts: list[int] = []
        self._mitigation = Mitigation(parts, parts.prober)
        self._recorder.listen(self._mitigation.hear)

    def run(self) -> int:
        """Start the job and keep it going; raises Problem where it cannot be started."""
        self._recorder.write(self._job)
        return self._guarded(lambda: self._keep_going(self._start(0, None)))

    def attach(self) -> int:
        """Go on with the ledger's incarnation, whose agents the launcher has adopted."""
        started = self._recorder.ledger.started
        for event in read_events(self._parts.folder.events):
            self._mitigation.hear(event)
        if started is None:
            raise Problem(f"the run in {self._parts.folder.path} never started its job; start a new run")
        return self._guarded(lambda: self._keep_going(self._resume(started)))

    def _resume(self, started: IncarnationStarted) -> Incarnation:
        """Watch what runs, or begin the restart that was decided before evenpace died."""
        event = WatchAttached(time=self._clock.stamp(), pid=os.getpid(), incarnation=started.incarnation)
        pending = self._recorder.ledger.pending
        if pending is None:
            nodes, rings = list(started.agents), Path(started.rings)
            incarnation = self._watch(started.incarnation, nodes, rings, from_end=True)
            self._recorder.write(event)
            return incarnation
        self._recorder.write(event)
        self._parts.launcher.stop(0.0)
        checkpoint = Checkpoint(Path(pending.checkpoint), pending.step) if pending.checkpoint else None
        after = self._start(started.incarnation + 1, checkpoint)
        self._parts.folder.keep_rings(Path(started.rings), running=after.number)
        return after

    def _guarded(self, act: Callable[[], int]) -> int:
        """Close the run in the log even where the job could not be started."""
        try:
            return act()
        except Problem as problem:
            self._recorder.write(
                RunEnded(time=self._clock.stamp(), outcome="failed", exit_code=problem.exit_code)
            )
            raise
        finally:
            ledger = self._recorder.ledger
            if ledger.over:
                self._parts.folder.keep_rings(Path(ledger.started.rings) if ledger.started else None)

    def _keep_going(self, incarnation: Incarnation) -> int:
        while (cause := self._follow(incarnation)) is not None:
            self._stop(incarnation)
            if cause.verdict.action == "give-up":
                return self._give_up(incarnation, cause)
            incarnation = self._restart(incarnation, cause)
        return self._finish(incarnation)

    def _follow(self, incarnation: Incarnation) -> Act | None:
        """Watch until the job has ended by itself (None) or something must be done."""
        while True:
            self._pass_signals()
            incarnation.look()
            ended = incarnation.ended
            if self._interrupts:
                cause = None
            else:
                if ended:
                    incarnation.settle()
                cause = judge(incarnation, self._parts) or self._mitigation.look()
            if ended or cause is not None:
                return cause
            self._clock.sleep(POLL)

    def _pass_signals(self) -> None:
        """Pass signals on; a second SIGINT ends the job by force."""
        for number in self._parts.interrupts.take():
            if number == signal.SIGINT and number in self._interrupts:
                self._parts.launcher.stop(0.0)
            else:
                self._parts.launcher.signal(number)
            if number in ENDING:
                self._interrupts.append(number)

    # --- starting ---

    def _start(self, number: int, checkpoint: Checkpoint | None) -> Incarnation:
        started = start(number, checkpoint, self._job, self._parts)
        return self._watch(number, list(started.agents), Path(started.rings))

    def _watch(
        self, number: int, nodes: Sequence[str], rings: Path, *, from_end: bool = False
    ) -> Incarnation:
        logs = self._parts.folder.logs(number, nodes)
        if self._parts.mirror:
            self._parts.mirror.follow(logs, names=bool(self._job.nodes), from_end=from_end)
        return Incarnation(number, logs, rings, partial(self._parts.watch, number, rings, logs), self._parts)

    # --- ending and starting again ---

    def _stop(self, incarnation: Incarnation) -> None:
        """End whatever is left of the incarnation."""
        survivors = self._parts.launcher.stop(GRACE)
        if survivors:
            self._parts.say_degraded(
                incarnation.number, "degraded-survivors", pids=", ".join(map(str, survivors))
            )

    def _restart(self, incarnation: Incarnation, cause: Act) -> Incarnation:
        outcome = "failed" if incarnation.ended else "stopped"
        self._ended(incarnation, outcome, incarnation.exit_code if incarnation.ended else None)
        checkpoint = self._checkpoint()
        event = decision(cause, incarnation.number, self._parts)
        if checkpoint:
            event = replace(event, checkpoint=str(checkpoint.path), step=checkpoint.step)
        self._recorder.write(event)
        self._close_findings(incarnation, "restart")
        after = self._start(incarnation.number + 1, checkpoint)
        self._parts.folder.keep_rings(incarnation.rings, running=after.number)
        return after

    def _checkpoint(self) -> Checkpoint | None:
        """Return the newest valid checkpoint; what goes wrong in looking costs that, and not the job."""
        if self._job.checkpoint_dir is None:
            return None
        folder = Path(self._job.checkpoint_dir)
        try:
            return self._search(folder)
        except Exception as error:
            reason = f"the search failed: {type(error).__name__}: {error}"
            event = CheckpointSkipped(time=self._clock.stamp(), path=str(folder), reason=reason)
            self._recorder.write(event)
            return None

    def _search(self, folder: Path) -> Checkpoint | None:
        """Find the newest valid checkpoint; move damaged newer ones out of the script's way."""
        checkpoint, skipped = newest_valid(folder)
        for one in skipped:
            self._recorder.write(self._skipped(one, folder))
        return checkpoint

    def _skipped(self, one: Skipped, folder: Path) -> CheckpointSkipped:
        moved = set_aside(one.path, folder) if one.damaged else None
        return CheckpointSkipped(
            time=self._clock.stamp(),
            path=str(one.path),
            reason=one.reason,
            moved_to=str(moved) if moved else None,
        )

    def _give_up(self, incarnation: Incarnation, cause: Act) -> int:
        self._recorder.write(decision(cause, incarnation.number, self._parts))
        self._close_findings(incarnation, "ended")
        self._ended(incarnation, "failed", incarnation.exit_code if incarnation.ended else None)
        return self._over("failed", GAVE_UP)

    def _finish(self, incarnation: Incarnation) -> int:
        """Record that the job ended by itself, or by the user's signal, which leaves nothing behind."""
        if self._interrupts:
            self._stop(incarnation)
        self._close_findings(incarnation, "ended")
        self._say_what_was_missed(incarnation)
        if incarnation.unknown and not self._interrupts:
            self._ended(incarnation, "unknown", None)
            return self._over("unknown", UNKNOWN)
        code = incarnation.exit_code
        outcome = "interrupted" if self._interrupts else "failed" if code else "finished"
        self._ended(incarnation, outcome, code)
        return self._over(outcome, code)

    def _say_what_was_missed(self, incarnation: Incarnation) -> None:
        """Record in the log itself that nothing was seen, or that the log has gaps."""
        if not self._recorder.ledger.joined:
            self._parts.say_degraded(incarnation.number, "degraded-unseen")
        if self._recorder.lost:
            self._parts.say_degraded(incarnation.number, "degraded-lost", count=str(self._recorder.lost))

    def _ended(self, incarnation: Incarnation, outcome: str, code: int | None) -> None:
        self._recorder.write(
            IncarnationEnded(
                time=self._clock.stamp(), incarnation=incarnation.number, outcome=outcome, exit_code=code
            )
        )

    def _over(self, outcome: str, code: int) -> int:
        self._recorder.write(RunEnded(time=self._clock.stamp(), outcome=outcome, exit_code=code))
        return code

    def _close_findings(self, incarnation: Incarnation, reason: str) -> None:
        for number in list(self._recorder.ledger.open):
            now = self._clock.stamp()
            self._recorder.write(
                FindingClosed(time=now, incarnation=incarnation.number, id=number, reason=reason, since=now)
            )
