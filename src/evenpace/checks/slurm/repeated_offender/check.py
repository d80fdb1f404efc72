"""Judge whether one node ends far more jobs than its peers."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import node_subject
from evenpace.collect.slurm.failures import failures
from evenpace.collect.slurm.model import PastJob
from evenpace.collect.slurm.nodes import gpu_nodes, out_of_service
from evenpace.findings import Evidence

LEAST = 3  # failures under different jobs: one job that fails wherever it runs accuses no node
TIMES = 5.0  # of what is usual among the GPU nodes
_QUOTED = 5


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each GPU node in service."""
    nodes, found = gpu_nodes(slurm), failures(slurm.accounting)
    jobs = {node.name: {job.id: job for job in found.get(node.name, ())} for node in nodes}
    usual = median(map(len, jobs.values())) if nodes else 0
    for node in nodes:
        count = len(jobs[node.name])
        if count < LEAST or count < TIMES * usual or out_of_service(node):
            yield FINE
            continue
        told = tuple(quoted(job) for job in list(jobs[node.name].values())[-_QUOTED:])
        yield Gap(node_subject(node), told, {"failures": count, "usual": f"{usual:g}"})


def quoted(job: PastJob) -> Evidence:
    """Quote how a job ended."""
    text = f"State={'+'.join(job.states)} FailedNode={job.failed_node or '-'} End={job.ended or '?'}"
    return Evidence(source=f"sacct --jobs={job.id}", text=text)
