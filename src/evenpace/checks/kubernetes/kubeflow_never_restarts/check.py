"""Judge whether a large job of the Kubeflow training operator starts again after a failed pod."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import dig, number
from evenpace.collect.kubernetes.policies import LARGE
from evenpace.collect.kubernetes.runs import Path, Run, training

MPI = "mpijobs.kubeflow.org"  # its launcher is started again, its workers are only told what to run


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each large job that has not ended and that no other object owns, as a trial of Katib is."""
    for run in training(cluster):
        if run.gpus < LARGE:
            continue
        path = final(run)
        if path is None:
            yield FINE
        else:
            details = {"pods": run.pods, "gpus": run.gpus}
            yield Gap(subject(run.object), (evidence(run.object, *path),), details)


def final(run: Run) -> Path | None:
    """Return the path of what makes the first failure final. Defaults differ by version: none is a gap."""
    retries: Path = ("spec", "runPolicy", "backoffLimit")
    if number(run.object, *retries) == 0:
        return retries
    if run.kind != MPI:
        for part in run.asking:
            path = (*part.path[:-1], "restartPolicy")
            if dig(run.object, *path) == "Never":
                return path
    return None
