"""Judge whether batch jobs may go back into the queue after a node failure."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting
from evenpace.collect.slurm.jobs import over
from evenpace.collect.slurm.nodes import gpu_nodes


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a cluster with GPUs: fine as well where every large job asks for it itself."""
    value = slurm.config.text("JobRequeue")
    if not gpu_nodes(slurm) or not value:
        return
    batch = [job for job in slurm.jobs if job.batch and not over(job)]
    large = [job for job in batch if job.gpus and (job.node_count or 0) > 1]
    refused = sum(job.requeue is False for job in large)
    if value == "0" and (refused or not large):
        yield Gap(CLUSTER, (setting(slurm, "JobRequeue"),), {"jobs": refused})
    else:
        yield FINE
