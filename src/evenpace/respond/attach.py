"""Go on with a run whose evenpace died: everything needed is in its event log."""

from __future__ import annotations

from evenpace.errors import Problem
from evenpace.respond.clock import Clock
from evenpace.respond.recorder import Recorder
from evenpace.terms import say
from evenpace.watch.eventlog import LineProblem, read_events
from evenpace.watch.events import RunStarted, WatchDegraded
from evenpace.watch.runfolder import RunFolder


def reload(folder: RunFolder, recorder: Recorder, lang: str) -> RunStarted:
    """Fold the log into the recorder and return the run; raises Problem where it cannot go on."""
    problems: list[LineProblem] = []
    for event in read_events(folder.events, problems):
        recorder.load(event)
    ledger = recorder.ledger
    if ledger.run is None:
        raise Problem(f"{folder.events} does not say how the run was started; it cannot be attached to")
    if ledger.over:
        raise Problem(f"the run in {folder.path} is over; see it with: evenpace report {folder.path}")
    for problem in problems:
        text = say("degraded-log-line", lang, line=problem.line, reason=problem.reason)
        recorder.write(WatchDegraded(time=Clock().stamp(), text=text))
    return ledger.run
