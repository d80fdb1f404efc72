"""Judge whether a job starts, fails and starts again without getting anywhere."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import job_subject
from evenpace.collect.slurm.jobs import over
from evenpace.collect.slurm.preemption import modes, preemption
from evenpace.findings import Evidence

RESTARTS = 5
SHORT = 3600.0  # seconds from one start to the next


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each job with GPUs that was requeued: many restarts are well where each gets hours done.

    Preemption requeues as well: where it may, nothing is said of a job.
    """
    partitions = {one.name: one for one in slurm.partitions}
    for job in slurm.jobs:
        if over(job) or not job.gpus or not job.restarts:
            continue
        pushed = preemption(slurm) == "qos" or "REQUEUE" in modes(slurm, partitions.get(job.partition))
        lived = (slurm.now - job.submitted).total_seconds() / job.restarts if job.submitted else SHORT
        if job.restarts > RESTARTS and lived < SHORT and not pushed:
            told = f"Restarts={job.restarts} SubmitTime={job.submitted}"
            details = {"restarts": job.restarts, "gpus": job.gpus, "minutes": round(lived / 60)}
            yield Gap(job_subject(job), (Evidence(source=f"scontrol show job {job.id}", text=told),), details)
        else:
            yield FINE
