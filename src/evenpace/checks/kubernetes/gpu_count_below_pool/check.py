"""Judge whether a node has as many accelerators as its labels and the other nodes of its pool say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, labels, name
from evenpace.collect.kubernetes.pools import pools, ready, shown, young
from evenpace.collect.kubernetes.workloads import capacity, gpu_nodes, gpus, schedulable
from evenpace.findings import Evidence

_MOST = 2 / 3  # of a pool's nodes must have one count before another one is held to be too low
_LEAST = 3  # nodes


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each node with accelerators that is in service and shares no GPUs."""
    for members in pools(gpu_nodes(cluster)).values():
        counts = {name(node): gpus(capacity(node)) for node in members}
        whole = Counter(counts[name(node)] for node in members if not _shared(node))
        common, held = whole.most_common(1)[0] if whole else (0, 0)
        sure = held >= _LEAST and held >= whole.total() * _MOST
        for node in members:
            if not ready(node) or not schedulable(node) or young(node, cluster.now) or _shared(node):
                yield FINE
                continue
            has, labelled = counts[name(node)], _labelled(node)
            wanted = max(common if sure else 0, labelled)
            # A group without any is served by dynamic resource allocation, or its plugin is missing.
            if has >= wanted or not common:
                yield FINE
                continue
            told = [evidence(node, "status", "capacity")]
            told += [evidence(node, "metadata", "labels", "nvidia.com/gpu.count")] if labelled > has else []
            if sure:
                listing = f"list nodes, pool {shown(node)}"
                told.append(Evidence(source=listing, text=f"{common} GPUs on {held} nodes"))
            yield Gap(subject(node), tuple(told), {"has": has, "wanted": wanted, "pool": shown(node)})


def _labelled(node: Object) -> int:
    found = labels(node).get("nvidia.com/gpu.count", "")
    return int(found) if found.isascii() and found.isdigit() and len(found) < 4 else 0


def _shared(node: Object) -> bool:
    """Tell whether MIG, time slicing, virtual machines or another plugin make the count another one."""
    found = labels(node)
    sliced = any(isinstance(one, str) and one.startswith("nvidia.com/mig-") for one in capacity(node))
    shared = found.get("nvidia.com/gpu.replicas", "1") not in ("0", "1")
    parts = any(word in found.get("nvidia.com/gpu.product", "") for word in ("-SHARED", "-MIG-"))
    virtual = found.get("nvidia.com/gpu.workload.config", "container") != "container"
    claimed = found.get("nvidia.com/gpu.deploy.device-plugin", "true") == "false"
    return sliced or shared or parts or virtual or claimed
