"""Judge whether the nodes of a pool run one version of the GPU driver."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Unsure
from evenpace.checks.drifting import gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import subject, where
from evenpace.collect.kubernetes.fields import Object, labels
from evenpace.collect.kubernetes.pools import drift, first
from evenpace.collect.kubernetes.workloads import gpu_nodes
from evenpace.findings import Evidence

_FULL = ("nvidia.com/cuda.driver-version.full", "amd.com/gpu.driver-version")
_PARTS = tuple(f"nvidia.com/cuda.driver.{part}" for part in ("major", "minor", "rev"))
_STATE = "nvidia.com/gpu-driver-upgrade-state"
_RESTING = ("upgrade-done", "upgrade-required", "upgrade-failed")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each pool whose nodes say their driver; a rollout that may be under way is not sure."""
    for found in drift(gpu_nodes(cluster), version, cluster.now):
        one = next(iter(found.values.values()))[0]
        if len(found.values) == 1:
            yield FINE
        elif found.rolling or any(_upgrading(node) for nodes in found.values.values() for node in nodes):
            yield Unsure(subject(one), {"pool": found.pool, "versions": found.told})
        else:
            odd = [nodes[0] for nodes in found.values.values()]
            told = [Evidence(source=f"{where(node)} .metadata.labels", text=version(node)) for node in odd]
            yield gap(found, tuple(told))


def version(node: Object) -> str:
    """Return the driver's version as the labels of feature discovery say; empty where they do not."""
    parts = [labels(node).get(key, "") for key in _PARTS]
    return first(node, _FULL) or (".".join(filter(None, parts)) if parts[0] else "")


def _upgrading(node: Object) -> bool:
    return labels(node).get(_STATE, _RESTING[0]) not in _RESTING
