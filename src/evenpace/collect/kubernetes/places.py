"""On which nodes the pods of a template may be placed, and how the GPUs of these nodes are joined."""

from __future__ import annotations

from collections.abc import Callable

from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import quoted
from evenpace.collect.kubernetes.fields import Object, labels, quantity, table
from evenpace.collect.kubernetes.workloads import Workload, capacity, gpu_nodes, gpus

# GPUs that hang on NVLink in every machine: `NVIDIA-H100-80GB-HBM3`, `NVIDIA-A100-SXM4-80GB`.
_NVLINK = ("SXM", "HBM3", "H200", "B200", "B300")
_WITHOUT = ("PCIE", "NVL", "MIG", "SHARED")


class Places:
    """Find nodes for templates by node selector and accelerators; equal questions are answered once."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = [(labels(node), gpus(capacity(node)), node) for node in gpu_nodes(cluster)]
        self._found: dict[tuple[str, int, bool], list[Object]] = {}
        self._all: dict[tuple[str, int, bool, Callable[[Object], object]], bool] = {}

    def all_have(self, part: Workload, has: Callable[[Object], object], whole: bool = False) -> bool:
        """Tell whether there are such nodes, and `has` is true of all of them."""
        key = *self._key(part, whole), has
        if key not in self._all:
            nodes = self.nodes(part, whole)
            self._all[key] = bool(nodes) and all(map(has, nodes))
        return self._all[key]

    def nodes(self, part: Workload, whole: bool = False) -> list[Object]:
        """Return the nodes that can hold a pod of `part`, with `whole` only those that it fills."""
        key, selector = self._key(part, whole), table(part.spec, "nodeSelector")
        if key not in self._found:
            self._found[key] = [
                node
                for named, accelerators, node in self._nodes
                if (accelerators == part.gpus if whole else accelerators >= part.gpus)
                and all(named.get(label) == value for label, value in selector.items())
            ]
        return self._found[key]

    @staticmethod
    def _key(part: Workload, whole: bool) -> tuple[str, int, bool]:
        return quoted(table(part.spec, "nodeSelector")), part.gpus, whole


def rdma(node: Object) -> str:
    """Return the name of an RDMA resource that a node offers; empty where it offers none."""
    offered = table(node, "status", "allocatable")
    named = (name for name in offered if isinstance(name, str) and name.startswith("rdma/"))
    return next((name for name in named if quantity(offered, name)), "")


def nvlink(node: Object) -> bool:
    """Tell whether the GPUs of a node are of a kind that is always joined by NVLink."""
    kind = labels(node).get("nvidia.com/gpu.product", "").upper()
    return any(word in kind for word in _NVLINK) and not any(word in kind for word in _WITHOUT)
