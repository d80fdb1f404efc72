"""Running and waiting pods with accelerators, by the training that they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import quoted, where
from evenpace.collect.kubernetes.fields import (
    Object,
    condition,
    dig,
    instant,
    labels,
    namespace,
    owner,
    table,
    text,
)
from evenpace.collect.kubernetes.workloads import pod_gpus
from evenpace.findings import Evidence

_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Gang:
    """Hold the pods of one training: its name as `JobSet/ml/train`, and (namespace, name) of its PodGroup.

    The PodGroup has no name where the pods name none.
    """

    name: str
    group: tuple[str, str]
    pods: tuple[Object, ...]


def gangs(cluster: Cluster) -> Iterator[Gang]:
    """Yield the trainings whose pods carry the mark of JobSet, Kubeflow, Volcano or a PodGroup.

    Pods without accelerators, pods that ended and pods that are being deleted are left out.
    """
    found: dict[str, list[Object]] = {}
    for pod in active(cluster):
        if name := _training(pod):
            found.setdefault(name, []).append(pod)
    for name, pods in found.items():
        yield Gang(name, (namespace(pods[0]), _group(pods[0])), tuple(pods))


def active(cluster: Cluster) -> Iterable[Object]:
    """Return the pods with accelerators that have not ended and are not being deleted."""
    return cluster.once("pods", "active pods", lambda: tuple(_active(cluster.objects("pods"))))


def _active(pods: Iterable[Object]) -> Iterator[Object]:
    for pod in pods:
        ended = text(pod, "status", "phase") in _ENDED or dig(pod, "metadata", "deletionTimestamp")
        if not ended and pod_gpus(table(pod, "spec")):
            yield pod


def running(pod: Object) -> bool:
    """Tell whether a pod runs."""
    return text(pod, "status", "phase") == "Running"


def waiting_since(pod: Object) -> datetime | None:
    """Return since when the scheduler has found no node for a pod; None for all others.

    A pod behind a scheduling gate waits for its turn in a queue, not for a node.
    """
    placed = condition(pod, "PodScheduled")
    unplaced = text(placed, "status") == "False" and text(placed, "reason") == "Unschedulable"
    if not unplaced or text(pod, "status", "phase") not in ("Pending", ""):
        return None
    return instant(placed, "lastTransitionTime") or instant(pod, "metadata", "creationTimestamp")


def scheduler_says(pod: Object) -> str:
    """Return why the scheduler found no node for a pod, in its own words."""
    return text(condition(pod, "PodScheduled"), "message")


def unplaced(pod: Object) -> Evidence:
    """Quote why the scheduler found no node for a pod."""
    said = quoted(scheduler_says(pod))
    return Evidence(source=f"{where(pod)} .status.conditions[PodScheduled].message", text=said)


def belongs_to(pod: Object) -> str:
    """Return what a pod belongs to: its training, else its owner, else itself (`Job/ml/train`)."""
    kind, owned = text(owner(pod), "kind"), text(owner(pod), "name")
    return _training(pod) or (f"{kind}/{namespace(pod)}/{owned}" if kind and owned else where(pod))


def _training(pod: Object) -> str:
    marks = labels(pod)
    at = namespace(pod)
    if jobset := marks.get("jobset.sigs.k8s.io/jobset-name"):
        return f"JobSet/{at}/{jobset}"
    if kubeflow := marks.get("training.kubeflow.org/job-name"):
        return f"{text(owner(pod), 'kind', default='Job')}/{at}/{kubeflow}"
    if volcano := marks.get("volcano.sh/job-name"):
        return f"Job/{at}/{volcano}"
    group = _group(pod)
    return f"PodGroup/{at}/{group}" if group else ""


def _group(pod: Object) -> str:
    named = labels(pod).get("scheduling.x-k8s.io/pod-group")
    return named or text(pod, "metadata", "annotations", "scheduling.k8s.io/group-name")
