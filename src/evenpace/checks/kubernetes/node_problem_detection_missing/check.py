"""Judge whether anything looks for broken hardware and kernels on the nodes with accelerators."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.agents import DETECTORS, called, left_out
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.conditions import others
from evenpace.collect.kubernetes.evidence import few, listed, quoted, several, where
from evenpace.collect.kubernetes.fields import Object, items, name, text
from evenpace.collect.kubernetes.pools import pools, shown, young
from evenpace.collect.kubernetes.workloads import gpu_nodes
from evenpace.findings import Evidence


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each pool of nodes with accelerators; nodes that just joined are left out."""
    daemonsets = cluster.objects("daemonsets.apps")
    detectors = [one for one in daemonsets if called(one, DETECTORS)]
    for members in pools(gpu_nodes(cluster)).values():
        silent = [node for node in members if not others(node) and not young(node, cluster.now)]
        watched = left_out(silent, detectors)
        if not watched:
            yield FINE
            continue
        told = (listed("daemonsets.apps", daemonsets), _types(watched[0]))
        details: Details = {"nodes": few(list(map(name, watched))), "pool": shown(watched[0])}
        yield Gap(several(watched), told, details)


def _types(node: Object) -> Evidence:
    found = [text(one, "type") for one in items(node, "status", "conditions")]
    return Evidence(source=f"{where(node)} .status.conditions[].type", text=quoted(found))
