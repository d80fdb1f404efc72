"""Judge whether a running JobSet has restarts left."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, dig, items, number
from evenpace.collect.kubernetes.policies import restarts_uncounted
from evenpace.collect.kubernetes.runs import training
from evenpace.findings import Evidence

USED_UP = 0.8  # of `maxRestarts`


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each JobSet that has not ended and allows restarts."""
    for run in training(cluster):
        limit = number(run.object, "spec", "failurePolicy", "maxRestarts") or 0
        if limit < 1:
            continue
        used = counted(run.object)
        if used < USED_UP * limit:
            yield FINE
        else:
            details = {"used": int(used), "limit": int(limit), "gpus": run.gpus}
            yield Gap(subject(run.object), tuple(quoted(run.object)), details)


def quoted(jobset: Object) -> Iterator[Evidence]:
    """Yield the limit and the counts that are set."""
    yield evidence(jobset, "spec", "failurePolicy", "maxRestarts")
    for field in ("restarts", "restartsCountTowardsMax", "replicatedJobsStatus"):
        if dig(jobset, "status", field) is not None:
            yield evidence(jobset, "status", field)


def counted(jobset: Object) -> float:
    """Return the restarts that count towards `maxRestarts`, of the JobSet and of its single Jobs.

    Versions without rules have no count of their own: there, all restarts count.
    """
    whole = number(jobset, "status", "restartsCountTowardsMax")
    if whole is None:
        whole = 0.0 if restarts_uncounted(jobset) else number(jobset, "status", "restarts") or 0.0
    jobs = items(jobset, "status", "replicatedJobsStatus")
    return whole + sum(sum(per_job(dig(job, "jobRestartsCountTowardsMax"))) for job in jobs)


def per_job(counts: object) -> Iterator[float]:
    """Yield the numbers of a list."""
    for place in range(min(len(counts), 1024) if isinstance(counts, list | tuple) else 0):
        yield number(counts, place) or 0.0
