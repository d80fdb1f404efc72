"""Judge whether a GPU queue of Kueue ends running training for an older job of the same priority."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import text
from evenpace.collect.kubernetes.kueue import QUEUES, gpu_flavors


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each ClusterQueue with accelerators; preemption by priority is a choice, and fine."""
    for queue in cluster.objects(QUEUES):
        if not gpu_flavors(queue):
            continue
        policy = text(queue, "spec", "preemption", "withinClusterQueue")
        if policy == "LowerOrNewerEqualPriority":
            yield Gap(subject(queue), (evidence(queue, "spec", "preemption"),))
        else:
            yield FINE
