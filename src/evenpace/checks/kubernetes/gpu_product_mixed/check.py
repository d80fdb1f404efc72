"""Judge whether a named pool holds accelerators of one product."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import few, several, where
from evenpace.collect.kubernetes.fields import Object, name
from evenpace.collect.kubernetes.pools import grows_by_itself, pool_name, product
from evenpace.collect.kubernetes.workloads import gpu_nodes
from evenpace.findings import Evidence


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each named pool of a fixed kind; Karpenter's pools take whatever machine fits."""
    named: dict[str, dict[str, list[Object]]] = {}
    for node in gpu_nodes(cluster):
        if (pool := pool_name(node)) and product(node) and not grows_by_itself(node):
            named.setdefault(pool, {}).setdefault(product(node), []).append(node)
    for pool, products in sorted(named.items()):
        if len(products) == 1:
            yield FINE
            continue
        ordered = sorted(products.items(), key=lambda item: -len(item[1]))
        odd = [node for _, nodes in ordered[1:] for node in nodes]
        told = [Evidence(source=f"{where(nodes[0])} .metadata.labels", text=one) for one, nodes in ordered]
        counts = ", ".join(f"{one} ({len(nodes)})" for one, nodes in ordered[:4])
        details: Details = {"pool": pool, "products": counts, "nodes": few(list(map(name, odd)))}
        yield Gap(several(odd), tuple(told[:4]), details)
