"""Failures of nodes in the accounting: jobs that one failure ended are one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from evenpace.collect.slurm.model import PastJob

TOGETHER = timedelta(hours=1)  # jobs that a node ends within it died of one failure


def failures(jobs: Iterable[PastJob]) -> dict[str, list[PastJob]]:
    """Return for each node one job for each of its failures, oldest first; under `` those of unnamed nodes.

    Only what Slurm itself puts down to a node counts (NODE_FAIL): a job that exits with an error may be wrong
    itself. Where several nodes took part, the node is the one that Slurm names.
    """
    ended: dict[str, list[tuple[datetime, PastJob]]] = {}
    for job in jobs:
        if "NODE_FAIL" in job.states and job.ended:
            ended.setdefault(culprit(job), []).append((job.ended, job))
    return {node: list(_distinct(found)) for node, found in ended.items()}


def culprit(job: PastJob) -> str:
    """Return the node that ended a job; empty where several took part and Slurm names none."""
    return job.failed_node or (job.nodes[0] if len(job.nodes) == 1 else "")


def _distinct(found: list[tuple[datetime, PastJob]]) -> Iterable[PastJob]:
    last: datetime | None = None
    for ended, job in sorted(found, key=lambda pair: pair[0]):
        if last is None or ended - last > TOGETHER:
            yield job
        last = ended
