"""Judge whether a node has an address for every pod that it may take."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, few, several
from evenpace.collect.kubernetes.fields import Object, name, quantity, table, text
from evenpace.collect.kubernetes.pools import pools

# Networks that hand out addresses by themselves; what the control plane set aside says nothing then.
_OWN = ("projectcalico.org/", "network.cilium.io/", "k8s.ovn.org/", "ovn.kubernetes.io/")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each pool of nodes whose blocks of addresses the control plane set aside."""
    for members in pools(cluster.objects("nodes")).values():
        short = [node for node in members if _short(node)]
        if short:
            node = short[0]
            told = (evidence(node, "spec", "podCIDR"), evidence(node, "status", "allocatable", "pods"))
            block, most = text(node, "spec", "podCIDR"), quantity(node, "status", "allocatable", "pods")
            details: Details = {
                "block": block,
                "addresses": _addresses(block) or 0,
                "pods": int(min(most or 0, 1e9)),
            }
            yield Gap(several(short), told, details | {"nodes": few(list(map(name, short)))})
        elif any(_addresses(text(node, "spec", "podCIDR")) for node in members):
            yield FINE


def _short(node: Object) -> bool:
    size, most = _addresses(text(node, "spec", "podCIDR")), quantity(node, "status", "allocatable", "pods")
    known = size is not None and most is not None and most > size
    return known and not any(key.startswith(_OWN) for key in _annotations(node))


def _addresses(block: str) -> int | None:
    try:
        network = ip_network(block, strict=False)
    except ValueError:
        return None
    return network.num_addresses if network.version == 4 else None


def _annotations(node: Object) -> list[str]:
    return [key for key in table(node, "metadata", "annotations") if isinstance(key, str)]
