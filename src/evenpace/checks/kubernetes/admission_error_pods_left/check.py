"""Judge whether nodes reject pods that ask for accelerators, or did and left them lying."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence
from evenpace.collect.kubernetes.fields import Object, table, text
from evenpace.collect.kubernetes.workloads import pod_gpus
from evenpace.findings import Subject


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each node that has pods with accelerators: one gap for all that it rejected."""
    rejected: dict[str, list[Object]] = {}
    for pod in cluster.objects("pods"):
        node = text(pod, "spec", "nodeName")
        if node and pod_gpus(table(pod, "spec")):
            rejected.setdefault(node, [])
            if text(pod, "status", "reason") == "UnexpectedAdmissionError":
                rejected[node].append(pod)
    for node, pods in sorted(rejected.items()):
        if not pods:
            yield FINE
            continue
        starts = [text(pod, "metadata", "creationTimestamp") for pod in pods]
        last = pods[starts.index(max(starts))]
        told = tuple(evidence(last, "status", field) for field in ("reason", "message"))
        yield Gap(Subject(kind="node", node=node), told, {"pods": len(pods)}, min(starts) or None)
