"""Judge who does not leave: a worker that stays behind, going nowhere, when the others have ended."""

from __future__ import annotations

from collections.abc import Mapping

from evenpace.findings import Finding, Severity
from evenpace.watch.crash import WorkerEnd
from evenpace.watch.events import stamp
from evenpace.watch.sayings import make
from evenpace.watch.snapshot import heartbeat_age, last_activity_ns
from evenpace.watch.stall import HANGS, state_evidence
from evenpace.watch.worker import Worker

LEAVE_S = 30.0  # after the last of the others
SILENT_S = 10.0  # without a heartbeat: the interpreter itself is blocked


def judge_leaving(workers: list[Worker], ends: Mapping[int, WorkerEnd], now: float) -> Finding | None:
    """Name the workers that hang on their way out, long after all others ended in order."""
    staying = [worker for worker in workers if worker.id.rank not in ends]
    if not staying or not ends or any(end.how != "clean" or end.code for end in ends.values()):
        return None
    waited = now - max(end.at for end in ends.values())
    if waited < LEAVE_S or not all(_goes_nowhere(worker) for worker in staying):
        return None
    names = [worker.id for worker in staying]
    return make(
        "non-communication-hang",
        "hang-at-exit",
        {
            "rank": ", ".join(str(name.rank) for name in names),
            "node": ", ".join(sorted({name.node for name in names})),
            "seconds": round(waited, 1),
        },
        culprits=names,
        confidence=0.9,
        severity=Severity.WARNING,
        since=stamp(now - waited),
        evidence=[item for worker in staying[:8] for item in state_evidence(worker)],
        advice=["advice-end-process", "advice-stack"],
        terms=HANGS,
    )


def _goes_nowhere(worker: Worker) -> bool:
    now_ns = worker.seen_ns
    if worker.stacks.phase or (now_ns - last_activity_ns(worker)) / 1e9 < LEAVE_S:
        return False
    silent = heartbeat_age(worker, now_ns) > SILENT_S
    return silent or worker.stacks.stuck_since(now_ns - int(SILENT_S * 1e9))
