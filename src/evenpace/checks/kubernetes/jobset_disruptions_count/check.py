"""Judge whether evictions use up the restarts of a JobSet that are meant for failures."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import dig, number, text
from evenpace.collect.kubernetes.policies import knows_disruptions, restarts_uncounted
from evenpace.collect.kubernetes.runs import Path, Run, training

PLENTY = 100  # restarts: maintenance alone does not use these up


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each JobSet that has not ended and allows some restarts."""
    for run in training(cluster):
        limit = number(run.object, "spec", "failurePolicy", "maxRestarts") or 0
        if limit < 1:
            continue
        path = None if limit >= PLENTY or restarts_uncounted(run.object) else ended_by_eviction(run)
        if path is None:
            yield FINE
        else:
            quoted = (
                evidence(run.object, "spec", "failurePolicy"),
                evidence(run.object, *path, "backoffLimit"),
                evidence(run.object, *path, "podFailurePolicy"),
            )
            yield Gap(subject(run.object), quoted, {"limit": int(limit), "gpus": run.gpus})


def ended_by_eviction(run: Run) -> Path | None:
    """Return the path of a Job's spec that one evicted pod makes fail; a Job that retries takes it itself."""
    for part in run.asking:
        path = part.path[:-1]
        job = dig(run.object, *path)
        never = text(part.spec, "restartPolicy") in ("", "Never")
        if never and number(job, "backoffLimit") == 0 and not knows_disruptions(job):
            return path
    return None
