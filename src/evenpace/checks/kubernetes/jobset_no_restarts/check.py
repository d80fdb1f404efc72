"""Judge whether a JobSet with accelerators starts again after one of its jobs failed."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, number
from evenpace.collect.kubernetes.policies import restarts_uncounted
from evenpace.collect.kubernetes.workloads import finished, templates

KIND = "jobsets.jobset.x-k8s.io"


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each JobSet that asks for accelerators and has not ended."""
    for jobset in cluster.objects(KIND):
        asking = [one for one in templates(KIND, jobset) if one.gpus]
        if not asking or finished(jobset):
            continue
        if restarts(jobset):
            yield FINE
        else:
            gpus = sum(one.gpus * one.pods for one in asking)
            yield Gap(subject(jobset), (evidence(jobset, "spec", "failurePolicy"),), {"gpus": gpus})


def restarts(jobset: Object) -> bool:
    """Tell whether any failure starts the JobSet again; `maxRestarts` is 0 where it is not set."""
    return restarts_uncounted(jobset) or (number(jobset, "spec", "failurePolicy", "maxRestarts") or 0) > 0
