"""Judge whether one node ends far more jobs than its peers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from statistics import median

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import node_subject
from evenpace.collect.slurm.model import PastJob
from evenpace.collect.slurm.nodes import gpu_nodes, out_of_service
from evenpace.findings import Evidence

FAILURES = 3  # of different jobs: one job that fails wherever it runs accuses no node
TIMES = 5.0  # of what is usual among the GPU nodes
TOGETHER = timedelta(hours=1)  # jobs that a node ends within it died of one failure
_QUOTED = 5


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each GPU node in service: only what Slurm itself puts down to a node counts."""
    blamed: dict[str, list[PastJob]] = {}
    for job in slurm.accounting:
        node_name = culprit(job)
        if node_name:
            blamed.setdefault(node_name, []).append(job)
    nodes = gpu_nodes(slurm)
    failures = {node.name: distinct(blamed.get(node.name, ())) for node in nodes}
    usual = median(map(len, failures.values())) if nodes else 0
    for node in nodes:
        jobs = failures[node.name]
        if len(jobs) < FAILURES or len(jobs) < TIMES * usual or out_of_service(node):
            yield FINE
            continue
        told = tuple(quoted(job) for job in jobs[-_QUOTED:])
        yield Gap(node_subject(node), told, {"failures": len(jobs), "usual": f"{usual:g}"})


def distinct(jobs: Iterable[PastJob]) -> list[PastJob]:
    """Return one job for each failure of a node, each another job."""
    found: dict[str, PastJob] = {}
    last: datetime | None = None
    timed = [(job.ended, job) for job in jobs if job.ended]
    for ended, job in sorted(timed, key=lambda pair: pair[0]):
        if last is None or ended - last > TOGETHER:
            found.setdefault(job.id, job)
        last = ended
    return list(found.values())


def culprit(job: PastJob) -> str:
    """Return the node that ended a job: where several took part, the one that Slurm names."""
    if "NODE_FAIL" not in job.states:
        return ""
    return job.failed_node or (job.nodes[0] if len(job.nodes) == 1 else "")


def quoted(job: PastJob) -> Evidence:
    """Quote how a job ended."""
    text = f"State={'+'.join(job.states)} FailedNode={job.failed_node or '-'} End={job.ended or '?'}"
    return Evidence(source=f"sacct --jobs={job.id}", text=text)
