"""Run checks over what was read: five outcomes, a time limit each, and no crash whatever a check does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenpace.checks.answers import Answer, Fine, Gap, Unsure
from evenpace.checks.catalogue import Check
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.snapshot import Snapshot, Unread, Why
from evenpace.findings import Outcome

LIMIT = 30.0  # seconds a check
_THREAD = "evenpace check "
MOST_GAPS = 1000  # kept of one check; the rest is counted
_FACTS: dict[str, Callable[[Snapshot, Sequence[str]], Any]] = {"kubernetes": Cluster, "slurm": Slurm}


@dataclass(frozen=True, slots=True)
class Result:
    """Hold what a check said of a cluster.

    `looked_at` counts subjects, `failing` those with a gap; `gaps` are the first MOST_GAPS of them. `unread`
    is what was missing, `unsure` what could not be decided, `error` what went wrong in the check itself.
    """

    check: Check
    snapshot: Snapshot
    outcome: Outcome
    gaps: tuple[Gap, ...] = ()
    failing: int = 0
    looked_at: int = 0
    unsure: tuple[Unsure, ...] = ()
    unread: tuple[Unread, ...] = ()
    error: str = ""


def run_all(snapshots: Iterable[Snapshot], checks: Sequence[Check], limit: float = LIMIT) -> Iterator[Result]:
    """Yield the result of each check that belongs to a snapshot's family, in the order of the checks."""
    for snapshot in snapshots:
        for check in checks:
            if check.family == snapshot.family:
                yield run(check, snapshot, limit)


def run(check: Check, snapshot: Snapshot, limit: float = LIMIT) -> Result:
    """Run one check, for at most `limit` seconds; never raises what the check raises."""
    absent, unread = _lacking(check, snapshot)
    if unread:
        return Result(check, snapshot, Outcome.NO_DATA, unread=unread)
    if absent:
        return Result(check, snapshot, Outcome.NOT_APPLICABLE, unread=absent)
    tally = _Tally()
    name = f"{_THREAD}{check.id}"
    worker = threading.Thread(target=_judge, args=(check, snapshot, tally), name=name, daemon=True)
    worker.start()
    worker.join(limit)
    if worker.is_alive():
        tally.stop.set()
        return Result(check, snapshot, Outcome.ERROR, error=f"took longer than {limit:g} s")
    if tally.error:
        return Result(check, snapshot, Outcome.ERROR, error=tally.error)
    return _summed(check, snapshot, tally)


def unended() -> int:
    """Count the checks that still run; between two audits, those that did not end in time."""
    return sum(thread.name.startswith(_THREAD) for thread in threading.enumerate())


def _lacking(check: Check, snapshot: Snapshot) -> tuple[tuple[Unread, ...], tuple[Unread, ...]]:
    """Return (what this cluster does not have, what could not be read) of what the check must have."""
    partly = snapshot.partly
    needed = [reason for kind in check.needs if (reason := snapshot.reason(kind) or partly.get(kind))]
    served = [reason for kind in check.if_served if (reason := snapshot.reason(kind) or partly.get(kind))]
    judged = [snapshot.reason(kind) for kind in check.judged]
    nothing = [reason for reason in judged if reason] if judged and None not in judged else []
    absent = [one for one in needed if one.why is Why.ABSENT]
    if nothing and all(one.why is Why.ABSENT for one in nothing):
        absent += nothing
        nothing = []
    unread = [one for one in (*needed, *served, *nothing) if one.why is not Why.ABSENT]
    return tuple(absent), tuple(unread)


@dataclass(slots=True)
class _Tally:
    """Gather the answers of a running check; `stop` ends one whose time is over at its next answer."""

    gaps: list[Gap] = field(default_factory=list)
    unsure: list[Unsure] = field(default_factory=list)
    failing: int = 0
    looked_at: int = 0
    error: str = ""
    stop: threading.Event = field(default_factory=threading.Event)

    def add(self, answer: Answer) -> None:
        self.looked_at += 1
        if isinstance(answer, Gap):
            self.failing += 1
            self.gaps += [answer] if len(self.gaps) < MOST_GAPS else []
        elif isinstance(answer, Unsure):
            self.unsure += [answer] if len(self.unsure) < MOST_GAPS else []
        elif not isinstance(answer, Fine):
            raise TypeError(f"check answered {type(answer).__name__}")


def _judge(check: Check, snapshot: Snapshot, tally: _Tally) -> None:
    try:
        facts = _FACTS[check.family](snapshot, check.kinds)
        for answer in check.load()(facts):
            if tally.stop.is_set():
                return
            tally.add(answer)
    except Exception as error:
        tally.error = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _summed(check: Check, snapshot: Snapshot, tally: _Tally) -> Result:
    reasons = (snapshot.reason(kind) for kind in check.judged)
    unread = tuple(reason for reason in reasons if reason and reason.why is not Why.ABSENT)
    if tally.gaps:
        outcome = Outcome.FAIL
    elif tally.unsure or unread:
        outcome = Outcome.NO_DATA
    else:
        outcome = Outcome.PASS if tally.looked_at else Outcome.NOT_APPLICABLE
    return Result(
        check,
        snapshot,
        outcome,
        tuple(tally.gaps),
        tally.failing,
        tally.looked_at,
        tuple(tally.unsure),
        unread,
    )
