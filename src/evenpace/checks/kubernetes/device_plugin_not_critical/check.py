"""Judge whether the pods that offer GPUs to Kubernetes may be pushed out by other pods."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.agents import DEVICE_PLUGINS, called
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import flag, name, number, text

_HIGH = 1_000_000_000  # above this are the two classes of Kubernetes' own


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each DaemonSet of a device plugin; a class of one's own counts by its value."""
    classes = cluster.objects("priorityclasses.scheduling.k8s.io")
    values = {name(one): number(one, "value") or 0 for one in classes}
    defaults = [one for one in classes if flag(one, "globalDefault")]
    default = max((number(one, "value") or 0 for one in defaults), default=0.0)
    highest = max((value for value in values.values() if value <= _HIGH), default=0.0)
    for one in cluster.objects("daemonsets.apps"):
        if not called(one, DEVICE_PLUGINS):
            continue
        chosen = text(one, "spec", "template", "spec", "priorityClassName")
        value = values.get(chosen, _HIGH if chosen.startswith("system-") else 0) if chosen else default
        if value >= max(highest, 1):
            yield FINE
        else:
            told = evidence(one, "spec", "template", "spec", "priorityClassName")
            yield Gap(subject(one), (told,), {"value": int(value), "highest": int(highest)})
