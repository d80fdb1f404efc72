"""Judge whether something places all pods of a training together."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, dig, items, labels, number, table, text
from evenpace.collect.kubernetes.policies import elastic
from evenpace.collect.kubernetes.runs import Run, joined, training

GROUPS = (
    "workloads.kueue.x-k8s.io",
    "podgroups.scheduling.volcano.sh",
    "podgroups.scheduling.x-k8s.io",
)
QUEUE = "kueue.x-k8s.io/queue-name"
# Marks on a pod by which Volcano, coscheduling, YuniKorn or KAI know the group that it belongs to.
MARKS = (
    *(QUEUE, "scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io"),
    *("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "kai.scheduler/queue"),
    *("yunikorn.apache.org/task-group-name", "yunikorn.apache.org/task-groups", "runai/queue"),
)


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each training whose pods need each other and are all needed."""
    groups = [group for kind in GROUPS for group in cluster.objects(kind)]
    placed = {text(one, "uid") for group in groups for one in owned_by(group)} - {""}
    for run in training(cluster):
        if not joined(run) or elastic(run) or takes_turns(run):
            continue
        if grouped(run) or text(run.object, "metadata", "uid") in placed:
            yield FINE
        else:
            quoted = (
                evidence(run.object, "metadata", "labels"),
                evidence(run.object, *run.asking[0].path, "spec", "schedulerName"),
            )
            yield Gap(subject(run.object), quoted, {"pods": run.pods, "gpus": run.gpus})


def owned_by(group: Object) -> tuple[Object, ...]:
    """Return the references to the objects that a group was made for."""
    return items(group, "metadata", "ownerReferences")


def takes_turns(run: Run) -> bool:
    """Tell whether the pods of a Job may also run one after the other."""
    if run.kind != "jobs.batch":
        return False
    spec = table(run.object, "spec")
    indexed = text(spec, "completionMode") == "Indexed"
    return not indexed or number(spec, "completions") != number(spec, "parallelism")


def grouped(run: Run) -> bool:
    """Tell whether a training names a queue, a group, or a scheduler other than the default one."""
    if QUEUE in labels(run.object) or run.kind == "jobs.batch.volcano.sh":
        return True
    return any(
        text(part.spec, "schedulerName") not in ("", "default-scheduler")
        or any(dig(part.spec, name) for name in ("workloadRef", "schedulingGroup"))
        or any(dig(part.metadata, group, mark) for group in ("labels", "annotations") for mark in MARKS)
        for part in run.asking
    )
