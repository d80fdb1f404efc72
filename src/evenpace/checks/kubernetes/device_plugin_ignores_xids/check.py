"""Judge whether the NVIDIA device plugin takes GPUs with errors out of service."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.agents import called
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import items, text

_OFF, _ON = "DP_DISABLE_HEALTHCHECKS", "DP_ENABLE_HEALTHCHECKS"


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each container of a DaemonSet of NVIDIA's plugin; a list of single Xids is no gap."""
    for one in cluster.objects("daemonsets.apps"):
        if not called(one, ("nvidia-device-plugin", "k8s-device-plugin", "nvidia-gpu-device-plugin")):
            continue
        path = ("spec", "template", "spec", "containers")
        for place, container in enumerate(items(one, *path)):
            values = {text(entry, "name"): text(entry, "value") for entry in items(container, "env")}
            off = values.get(_OFF, "").lower()
            if (off.strip() == "all" or "xids" in off) and not values.get(_ON):
                told = evidence(one, *path, place, "env", list(values).index(_OFF))
                yield Gap(subject(one), (told,), {"value": values[_OFF]})
            else:
                yield FINE
