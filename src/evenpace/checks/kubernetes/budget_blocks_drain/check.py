"""Judge whether disruption budgets let the pods that stand beside training leave a GPU node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject, where
from evenpace.collect.kubernetes.fields import (
    Object,
    dig,
    labels,
    name,
    namespace,
    number,
    owner,
    table,
    text,
)
from evenpace.collect.kubernetes.matching import matches
from evenpace.collect.kubernetes.workloads import gpu_nodes, pod_gpus
from evenpace.findings import Evidence

KIND = "poddisruptionbudgets.policy"
_ENDED = ("Succeeded", "Failed")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each budget; those that a controller made are its own affair, as it may change them."""
    beside = _beside(cluster)
    for budget in cluster.objects(KIND):
        limit = None if owner(budget) else _zero(budget)
        pods = beside.get(namespace(budget), []) if limit else []
        held = next((pod for found, pod in pods if _covers(budget, found)), None)
        if held is None or limit is None:
            yield FINE
            continue
        node = text(held, "spec", "nodeName")
        placed = Evidence(source=f"{where(held)} .spec.nodeName", text=node)
        yield Gap(subject(budget), (evidence(budget, *limit), placed), {"pod": name(held), "on": node})


def _beside(cluster: Cluster) -> dict[str, list[tuple[Mapping[str, str], Object]]]:
    """Return by namespace (labels, pod) on GPU nodes that ask for none and that a drain has to evict."""
    nodes = {name(node) for node in gpu_nodes(cluster)}
    found: dict[str, list[tuple[Mapping[str, str], Object]]] = {}
    for pod in cluster.objects("pods"):
        if text(pod, "spec", "nodeName") in nodes and text(pod, "status", "phase") not in _ENDED:
            stays = text(owner(pod), "kind") in ("DaemonSet", "Node")
            if not stays and not pod_gpus(table(pod, "spec")):
                found.setdefault(namespace(pod), []).append((labels(pod), pod))
    return found


def _covers(budget: Object, found: Mapping[str, str]) -> bool:
    selector = dig(budget, "spec", "selector")
    return isinstance(selector, Mapping) and matches(selector, found)


def _zero(budget: Object) -> tuple[str, ...] | None:
    """Return the path of what never allows an eviction, however healthy all pods are; None where one may."""
    expected, desired = (number(budget, "status", key) for key in ("expectedPods", "desiredHealthy"))
    if dig(budget, "spec", "maxUnavailable") in (0, "0", "0%"):
        return ("spec", "maxUnavailable")
    if dig(budget, "spec", "minAvailable") == "100%":
        return ("spec", "minAvailable")
    if expected and desired is not None and desired >= expected:
        return ("spec", "minAvailable") if dig(budget, "spec", "minAvailable") is not None else ("spec",)
    return None
