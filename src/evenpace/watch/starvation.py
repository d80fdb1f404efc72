"""What the kernel adds to a slow worker's case: was its process stopped, was it starved of CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenpace.detect.attribution import SlowKind, SlowVerdict
from evenpace.findings import Evidence
from evenpace.watch.worker import Worker

WORTH_TELLING = 0.1  # share of the time
PLAIN = 0.2  # share of the time, and
APART = 3.0  # times what is usual in the calmer half of the job: beyond doubt
LOOKS = 4  # at a process, at least


@dataclass(frozen=True, slots=True)
class CpuShare:
    """Shares of a stretch of time: stopped by a signal, runnable without a CPU, running. 0 to 1."""

    stopped: float
    starved: float
    running: float


def cpu_share(worker: Worker, since_ns: int, least: int = 2) -> CpuShare | None:
    """Return a worker's shares since then; None where fewer than `least` looks were taken."""
    looks = [(at, facts) for at, facts in worker.samples if at >= since_ns]
    if len(looks) < least:
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


def set_apart(workers: Sequence[Worker], since_ns: int) -> tuple[int, ...]:
    """Return the ranks that were plainly stopped or starved since then, as at most half of the job was."""
    shares = {worker.id.rank: share for worker in workers if (share := cpu_share(worker, since_ns, LOOKS))}
    found = set[int]()
    for name in ("stopped", "starved"):
        known = sorted(getattr(share, name) for share in shares.values())
        usual = float(np.median(known[: (len(known) + 1) // 2])) if known else 0.0
        found |= {rank for rank, share in shares.items() if getattr(share, name) >= max(PLAIN, APART * usual)}
    return tuple(sorted(found)) if 2 * len(found) <= len(workers) else ()


def single_out(verdict: SlowVerdict, apart: tuple[int, ...]) -> SlowVerdict | None:
    """Name those whom the kernel sets apart, where all transfers wait for them and so prove nothing.

    None where the own time of another grew most, or where those who are named already are not among them. A
    link to one of them is not slow: who is stopped takes late what is sent to it.
    """
    if verdict.kind is SlowKind.THROUGHPUT or not verdict.excess:
        return None
    if verdict.link:
        return _named(verdict, apart) if {*verdict.link} & {*apart} and not verdict.culprits else None
    grown = [verdict.excess.get(rank, 0.0) for rank in apart]
    if not {*verdict.culprits} < {*apart} or min(grown) <= 0 or max(grown) < max(verdict.excess.values()):
        return None
    return _named(verdict, apart)


def _named(verdict: SlowVerdict, culprits: tuple[int, ...]) -> SlowVerdict:
    return replace(
        verdict,
        kind=SlowKind.NON_COMMUNICATION,
        culprits=culprits,
        link=None,
        share=min(1.0, max(verdict.excess.get(rank, 0.0) for rank in culprits) / max(verdict.lost, 1e-9)),
        confidence=0.8,
        missing=(),
    )
