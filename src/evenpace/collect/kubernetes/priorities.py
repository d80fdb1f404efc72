"""Which priority pods and training have, and who may push others out."""

from __future__ import annotations

from collections.abc import Iterable

from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.fields import Object, flag, labels, name, number, text
from evenpace.collect.kubernetes.runs import Run

CLASSES = "priorityclasses.scheduling.k8s.io"
_OF_TRAINING = (("priorityClassName",), ("runPolicy", "schedulingPolicy", "priorityClass"))


def classes(cluster: Cluster) -> dict[str, Object]:
    """Return the priority classes by name."""
    return {name(one): one for one in cluster.objects(CLASSES)}


def default_class(known: Iterable[Object]) -> Object | None:
    """Return the class of pods that name none, if there is one."""
    return next((one for one in known if flag(one, "globalDefault")), None)


def value(one: Object | None) -> float:
    """Return the value of a priority class, 0 for none."""
    return number(one, "value") or 0.0


def preempts(one: Object) -> bool:
    """Tell whether a priority class, or a pod's spec, may push out what is lower."""
    return text(one, "preemptionPolicy") != "Never"


def pod_priority(pod: Object, known: dict[str, Object]) -> float:
    """Return the priority that a pod was given when it was made, else that of its class."""
    given = number(pod, "spec", "priority")
    return value(known.get(text(pod, "spec", "priorityClassName"))) if given is None else given


def ranked(run: Run) -> bool:
    """Tell whether a training names a priority, of its pods or in the queue of Kueue or Volcano."""
    named = any(text(part.spec, "priorityClassName") for part in run.parts)
    queued = any(text(run.object, "spec", *path) for path in _OF_TRAINING)
    return named or queued or "kueue.x-k8s.io/priority-class" in labels(run.object)
