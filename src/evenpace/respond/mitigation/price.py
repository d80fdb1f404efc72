"""What starting the job again would cost now, by the record of this run."""

from __future__ import annotations

import os
from pathlib import Path

from evenpace.findings import Finding
from evenpace.respond.ledger import Ledger
from evenpace.respond.policy import Verdict, decide_slow
from evenpace.watch.events import seconds

STARTING = 60.0  # seconds that a start takes, where this run has not shown it


def restart_verdict(finding: Finding, ledger: Ledger) -> Verdict | None:
    """Return the verdict that takes the slow node out; None where the policy's rules keep it."""
    verdict = decide_slow(finding, ledger.situation())
    return verdict if verdict.nodes_out else None


def restart_price(ledger: Ledger, started_in: float | None, now: float) -> float:
    """Return the seconds that a restart loses: the start, and the work since the newest checkpoint.

    `now` in epoch seconds; `started_in` is how long this incarnation took to its first iteration.
    """
    start = STARTING if started_in is None else started_in
    return start + max(0.0, now - _last_saved(ledger, now))


def _last_saved(ledger: Ledger, now: float) -> float:
    """Return when the work was saved last: the newest entry of the checkpoint folder, else the start."""
    run, began = ledger.run, seconds(ledger.started.time) if ledger.started else now
    if run is None or run.checkpoint_dir is None:
        return began
    return max([began, *_times(Path(run.checkpoint_dir))])


def _times(folder: Path) -> list[float]:
    try:
        with os.scandir(folder) as entries:
            return [entry.stat().st_mtime for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return []
