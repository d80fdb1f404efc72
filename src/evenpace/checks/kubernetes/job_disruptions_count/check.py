"""Judge whether one round of evictions, as maintenance makes it, ends a large Job."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, dig, number, text
from evenpace.collect.kubernetes.policies import LARGE, knows_disruptions
from evenpace.collect.kubernetes.runs import Run, training

RETRIES = 6.0  # `backoffLimit` where it is not set


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each large Job that nothing above it starts again, and whose pods end with a failure."""
    for run in training(cluster):
        if run.gpus < LARGE or text(run.asking[0].spec, "restartPolicy") != "Never":
            continue
        if knows_disruptions(dig(run.object, "spec")) or not ended(run, run.object):
            yield FINE
        else:
            fields = ("podFailurePolicy", "backoffLimit", "backoffLimitPerIndex")
            quoted = tuple(evidence(run.object, "spec", field) for field in fields)
            yield Gap(subject(run.object), quoted, {"pods": run.pods, "gpus": run.gpus})


def ended(run: Run, job: Object) -> bool:
    """Tell whether the eviction of each pod once exceeds the retries, of the Job or of each index."""
    if (per_index := number(job, "spec", "backoffLimitPerIndex")) is not None:
        return per_index < 1
    retries = number(job, "spec", "backoffLimit")
    return run.pods > (RETRIES if retries is None else retries)
