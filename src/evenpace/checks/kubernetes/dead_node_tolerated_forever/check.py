"""Judge whether the pods of training ever leave a node that has died."""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.runs import Created, training
from evenpace.collect.kubernetes.tolerations import DEFAULT, wait


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each workload of training."""
    created = Created(cluster)
    for run in training(cluster):
        bound = [part for part in run.asking if isinf(wait(part.spec, DEFAULT))]
        pod = created.pod(run) if bound else None
        if bound and (pod is None or isinf(wait(pod.spec, DEFAULT))):
            quoted = (evidence(run.object, *bound[0].path, "spec", "tolerations"),)
            yield Gap(subject(run.object), quoted, {"pods": run.pods, "gpus": run.gpus})
        else:
            yield FINE
