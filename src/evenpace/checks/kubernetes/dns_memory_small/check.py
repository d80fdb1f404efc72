"""Judge whether the memory limit of CoreDNS holds what the size of the cluster needs."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import items, name, namespace, quantity, text

_BASE = 54  # MB that CoreDNS needs by itself, its cache included
_EACH = 1000  # pods and services that need one MB more


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for CoreDNS in kube-system; the formula is that of Scaling_CoreDNS.md, default settings."""
    held = len(cluster.objects("pods")) + len(cluster.objects("services"))
    needed = held / _EACH + _BASE
    for one in cluster.objects("deployments.apps"):
        if namespace(one) != "kube-system" or name(one) not in ("coredns", "rke2-coredns-rke2-coredns"):
            continue
        path = ("spec", "template", "spec", "containers")
        for place, container in enumerate(items(one, *path)):
            limit = quantity(container, "resources", "limits", "memory")
            if "coredns" not in text(container, "image") + text(container, "name") or limit is None:
                continue
            if limit / 1e6 >= needed:
                yield FINE
                continue
            told = evidence(one, *path, place, "resources", "limits", "memory")
            sizes = {"limit": int(limit / 1e6), "needed": int(needed) + 1, "held": held}
            yield Gap(subject(one), (told,), sizes)
