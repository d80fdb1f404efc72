"""Judge whether a large run has time to save a checkpoint when its pods are told to end."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import number
from evenpace.collect.kubernetes.policies import LARGE
from evenpace.collect.kubernetes.runs import training
from evenpace.collect.kubernetes.volumes import Mount, mounts
from evenpace.collect.kubernetes.workloads import Workload

DEFAULT = 30.0  # seconds between SIGTERM and SIGKILL where nothing is set
_FIELD = "terminationGracePeriodSeconds"


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each large run that mounts a volume for checkpoints."""
    for run in training(cluster):
        saving = [(part, mount) for part in run.asking if (mount := _saved(part)) and run.gpus > LARGE]
        short = [(part, mount) for part, mount in saving if _grace(part) <= DEFAULT]
        if short:
            part, mount = short[0]
            quoted = evidence(run.object, *part.path, "spec", _FIELD), evidence(run.object, *mount.path)
            details = {"seconds": int(_grace(part)), "gpus": run.gpus}
            yield Gap(subject(run.object), quoted, details)
        elif saving:
            yield FINE


def _saved(part: Workload) -> Mount | None:
    return next((mount for mount in mounts(part) if mount.for_checkpoints), None)


def _grace(part: Workload) -> float:
    found = number(part.spec, _FIELD)
    return DEFAULT if found is None else max(found, 0.0)
