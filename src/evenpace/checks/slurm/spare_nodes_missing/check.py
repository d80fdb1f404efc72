"""Judge whether a node stands by for the largest run of each partition."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import partition_subject
from evenpace.collect.slurm.model import Job
from evenpace.collect.slurm.nodes import gpu_nodes, out_of_service, spare
from evenpace.collect.slurm.preemption import preemption
from evenpace.findings import Evidence

LEAST = 4  # nodes of a run that is worth a spare
SHARE = 0.5  # of the partition: below it, nodes of smaller jobs come free all the time


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each partition that one run takes for the most part; preemption makes room as well."""
    largest: dict[str, Job] = {}
    for job in slurm.jobs:
        if "RUNNING" in job.states and job.gpus and taken(job) >= LEAST:
            largest[job.partition] = max(largest.get(job.partition, job), job, key=taken)
    for name, job in sorted(largest.items()):
        members = [node for node in gpu_nodes(slurm) if name in node.partitions]
        in_service = sum(not out_of_service(node) for node in members)
        needed = taken(job) >= SHARE * in_service
        if not members or not needed or preemption(slurm) or any(map(spare, members)):
            yield FINE
            continue
        told = f"Partition={name} NumNodes={job.node_count}"
        evidence = Evidence(source=f"scontrol show job {job.id}", text=told)
        details: dict[str, str | int] = {"job": job.id, "taken": taken(job), "nodes": in_service}
        yield Gap(partition_subject(name), (evidence,), details)


def taken(job: Job) -> int:
    """Return how many nodes a job holds."""
    return job.node_count or 0
