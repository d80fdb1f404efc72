"""What the kernel adds to a slow worker's case: was its process stopped, was it starved of CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenpace.findings import Evidence
from evenpace.watch.worker import Worker

WORTH_TELLING = 0.1  # share of the time


@dataclass(frozen=True, slots=True)
class CpuShare:
    """Shares of a stretch of time: stopped by a signal, runnable without a CPU, running. 0 to 1."""

    stopped: float
    starved: float
    running: float


def cpu_share(worker: Worker, since_ns: int) -> CpuShare | None:
    """Return a worker's shares since then; None where fewer than two looks were taken."""
    looks = [(at, facts) for at, facts in worker.samples if at >= since_ns]
    if len(looks) < 2:
        return None
    (first_ns, first), (last_ns, last) = looks[0], looks[-1]
    span = max(last_ns - first_ns, 1) / 1e9
    delay = (last.run_delay_seconds or 0.0) - (first.run_delay_seconds or 0.0)
    return CpuShare(
        stopped=sum(facts.stopped for _, facts in looks) / len(looks),
        starved=delay / span,
        running=(last.cpu_seconds - first.cpu_seconds) / span,
    )


def kernel_evidence(worker: Worker, peers: Sequence[Worker], since_ns: int) -> list[Evidence]:
    """Return what sets the worker apart from its peers in the kernel's eyes."""
    own = cpu_share(worker, since_ns)
    others = [share for share in (cpu_share(peer, since_ns) for peer in peers) if share]
    if own is None or not others:
        return []
    found = []
    for name, metric in (
        ("stopped", "share of looks: process stopped"),
        ("starved", "share of time: waited for a CPU"),
    ):
        mine, usual = getattr(own, name), float(np.median([getattr(share, name) for share in others]))
        if mine >= WORTH_TELLING and mine > 1.5 * usual:
            source = f"process {worker.id.pid} (rank {worker.id.rank})"
            found.append(
                Evidence(source=source, metric=metric, value=round(mine, 3), expected=round(usual, 3))
            )
    return found
