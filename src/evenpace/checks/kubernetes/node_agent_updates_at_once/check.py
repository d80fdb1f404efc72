"""Judge whether a change of an agent reaches the nodes with accelerators step by step."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, dig, namespace, number, text
from evenpace.collect.kubernetes.matching import daemon_runs_on
from evenpace.collect.kubernetes.workloads import gpu_nodes

_MOST = 0.2  # of its nodes
_LEAST = 20  # nodes below which a share says little
# What the cloud or the distribution runs and updates itself.
_THEIRS = ("openshift", "gke-managed", "gmp-system", "aks-", "calico-system", "tigera-", "azure-")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each DaemonSet on many nodes, some with accelerators, that is updated by itself."""
    nodes = gpu_nodes(cluster)
    for one in cluster.objects("daemonsets.apps"):
        wanted = number(one, "status", "desiredNumberScheduled") or 0
        if wanted < _LEAST or namespace(one).startswith(_THEIRS):
            continue
        if text(one, "spec", "updateStrategy", "type", default="RollingUpdate") != "RollingUpdate":
            continue
        at_once = _share(one, wanted)
        if at_once <= _MOST or not any(daemon_runs_on(one, node) for node in nodes):
            yield FINE
            continue
        told = (
            evidence(one, "spec", "updateStrategy"),
            evidence(one, "status", "desiredNumberScheduled"),
        )
        yield Gap(subject(one), told, {"share": f"{at_once:.0%}", "nodes": int(wanted)})


def _share(one: Object, wanted: float) -> float:
    """Return the share of its nodes that an update may take at once; `maxUnavailable` is 1 by default."""
    limit = dig(one, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
    if isinstance(limit, str) and limit.endswith("%") and limit[:-1].isascii() and limit[:-1].isdigit():
        return min(int(limit[:4].rstrip("%") or 0), 100) / 100
    return (number(limit) or (1.0 if limit is None else 0.0)) / wanted
