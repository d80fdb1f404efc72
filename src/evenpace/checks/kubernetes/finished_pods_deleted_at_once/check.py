"""Judge whether the logs of a failed run outlive its pods."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.agents import DETECTORS, LOG_COLLECTORS, called, reads_pod_logs
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, items, number, text
from evenpace.collect.kubernetes.policies import LARGE
from evenpace.collect.kubernetes.runs import Path, Run, training

HOUR = 3600
POLICY = ("spec", "runPolicy")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each large run; where an agent reads the logs of all pods, none loses them."""
    kept = any(map(collects, cluster.objects("daemonsets.apps")))
    for run in training(cluster):
        path = deleted_by(run.object) if run.gpus >= LARGE else None
        if path is None or kept or own_collector(run):
            yield FINE
        else:
            yield Gap(subject(run.object), (evidence(run.object, *path),), {"gpus": run.gpus})


def collects(daemonset: Object) -> bool:
    """Tell whether an agent reads the logs of pods; a detector of faults reads only those of the node."""
    return called(daemonset, LOG_COLLECTORS) or (
        reads_pod_logs(daemonset) and not called(daemonset, DETECTORS)
    )


def deleted_by(one: Object) -> Path | None:
    """Return the path of what deletes the pods within an hour after the end."""
    if text(one, *POLICY, "cleanPodPolicy") == "All":
        return (*POLICY, "cleanPodPolicy")
    for path in (("spec", "ttlSecondsAfterFinished"), (*POLICY, "ttlSecondsAfterFinished")):
        seconds = number(one, *path)
        if seconds is not None and seconds < HOUR:
            return path
    return None


def own_collector(run: Run) -> bool:
    """Tell whether a container beside the training takes its logs away."""
    spelled = (
        f"{text(one, 'name')} {text(one, 'image')}".lower()
        for part in run.asking
        for group in ("containers", "initContainers")
        for one in items(part.spec, group)
    )
    return any(word in said for said in spelled for word in LOG_COLLECTORS)
