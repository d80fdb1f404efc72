"""Judge whether a Volcano job may start with only part of the pods that need each other."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import dig, number, table
from evenpace.collect.kubernetes.policies import elastic
from evenpace.collect.kubernetes.runs import Run, training

MEETING = ("ssh", "svc", "mpi", "pytorch", "tensorflow")  # plug-ins by which pods find each other


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each Volcano job with accelerators in several pods that find each other."""
    for run in training(cluster):
        if run.pods < 2 or not table(run.object, "spec", "plugins").keys() & set(MEETING):
            continue
        least = number(run.object, "spec", "minAvailable") or 0
        if not 0 < least < run.pods or elastic(run) or chosen(run):
            yield FINE
        else:
            quoted = (evidence(run.object, "spec", "minAvailable"), evidence(run.object, "spec", "plugins"))
            yield Gap(subject(run.object), quoted, {"least": int(least), "pods": run.pods, "gpus": run.gpus})


def chosen(run: Run) -> bool:
    """Tell whether a task has a minimum of its own: somebody has thought about how many it takes."""
    tasks = (dig(run.object, *part.path[:-1]) for part in run.asking)
    return any(number(task, "minAvailable") is not None for task in tasks)
