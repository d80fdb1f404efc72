"""Nodes that belong together: pools, kinds of machines, who is kept out of service and since when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from evenpace.collect.kubernetes.fields import Object, condition, instant, items, labels, name, text
from evenpace.collect.kubernetes.workloads import schedulable

_POOL = (
    *("cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name"),
    *("karpenter.sh/nodepool", "karpenter.sh/provisioner-name", "kubernetes.azure.com/agentpool"),
    *("agentpool", "compute.coreweave.com/node-pool", "oke.oraclecloud.com/pool.name", "nodepool"),
    *("node-pool", "node.kubernetes.io/pool", "pool"),
)
_MACHINE = ("node.kubernetes.io/instance-type", "nvidia.com/gpu.machine", "kubernetes.io/arch")
_PRODUCT = ("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "amd.com/gpu.product-name")
_KARPENTER = ("karpenter.sh/nodepool", "karpenter.sh/provisioner-name")
# Clouds that watch their nodes with agents of which the cluster's owner sees nothing.
_CLOUDS = {
    "cloud.google.com/gke-nodepool": "GKE",
    "kubernetes.azure.com/cluster": "AKS",
    "kubernetes.azure.com/agentpool": "AKS",
    "node.coreweave.cloud/class": "CoreWeave",
    "compute.coreweave.com/node-pool": "CoreWeave",
}
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
# Taints that keep other work away from good nodes.
_USUAL = frozenset(
    (
        *("nvidia.com/gpu", "amd.com/gpu", "google.com/tpu", "aws.amazon.com/neuron", "habana.ai/gaudi"),
        *("gpu", "dedicated", "sku", "accelerator", "workload", "kubernetes.azure.com/scalesetpriority"),
        *("cloud.google.com/gke-spot", "kubernetes.io/arch", UNSCHEDULABLE),
    )
)
_PLACING = ("NoSchedule", "NoExecute")
_ROLLING = timedelta(days=3)  # the longest that a rollout over a pool is taken to last


def first(node: Object, keys: Sequence[str]) -> str:
    """Return the first label of `keys` that a node has; empty where it has none."""
    found = labels(node)
    return next((found[key] for key in keys if found.get(key)), "")


def pool_name(node: Object) -> str:
    """Return the name of a node's pool, where its labels say."""
    return first(node, _POOL)


def grows_by_itself(node: Object) -> bool:
    """Tell whether Karpenter made the node, so that a pool has no fixed size or kind of machine."""
    return bool(first(node, _KARPENTER))


def cloud(node: Object) -> str:
    """Return the cloud that runs hidden agents on a node; empty for others."""
    found = labels(node)
    if found.get("eks.amazonaws.com/compute-type") == "auto":
        return "EKS Auto Mode"
    return next((named for key, named in _CLOUDS.items() if key in found), "")


def product(node: Object) -> str:
    """Return the product of a node's accelerators, without how it is shared: `NVIDIA-H100-80GB-HBM3`."""
    return first(node, _PRODUCT).partition("-SHARED")[0].partition("-MIG-")[0]


def shown(node: Object) -> str:
    """Return what to call the pool of a node in a sentence."""
    return pool_name(node) or labels(node).get(_MACHINE[0]) or product(node) or "-"


def pools(nodes: Iterable[Object]) -> dict[tuple[str, ...], list[Object]]:
    """Return nodes by pool, machine and accelerator: those in one group are meant to be alike."""
    groups: dict[tuple[str, ...], list[Object]] = {}
    for node in nodes:
        found = labels(node)
        alike = (pool_name(node), *(found.get(key, "") for key in _MACHINE), product(node))
        groups.setdefault(alike, []).append(node)
    return groups


def ready(node: Object) -> bool:
    """Tell whether a node is ready."""
    return text(condition(node, "Ready"), "status") == "True"


def came_back(node: Object) -> datetime | None:
    """Return when a node joined or last became ready, the later of both; None where it is not known."""
    known = (
        instant(node, "metadata", "creationTimestamp"),
        instant(condition(node, "Ready"), "lastTransitionTime"),
    )
    return max((one for one in known if one), default=None)


def young(node: Object, now: datetime, minutes: int = 30) -> bool:
    """Tell whether a node joined or became ready so lately that its agents may still be starting."""
    since = came_back(node)
    return since is not None and now - since < timedelta(minutes=minutes)


def usual_taints(nodes: Sequence[Object]) -> frozenset[str]:
    """Return the taints that mark what a pool is for: most of its nodes have them."""
    held = Counter(text(one, "key") for node in nodes for one in items(node, "spec", "taints"))
    most = len(nodes) / 2
    return _USUAL | {key for key, count in held.items() if len(nodes) > 2 and count > most}


def set_apart(node: Object, usual: frozenset[str]) -> tuple[Object, ...]:
    """Return the taints that keep pods off this one node."""
    found = items(node, "spec", "taints")
    return tuple(one for one in found if text(one, "effect") in _PLACING and text(one, "key") not in usual)


def in_service(node: Object, usual: frozenset[str]) -> bool:
    """Tell whether a node is ready and takes the work of its pool."""
    return ready(node) and schedulable(node) and not set_apart(node, usual)


def cordoned_since(node: Object) -> datetime | None:
    """Return since when a node takes no pods, from the taint that the control plane sets with it."""
    taints = (one for one in items(node, "spec", "taints") if text(one, "key") == UNSCHEDULABLE)
    return instant(next(taints, {}), "timeAdded")


@dataclass(frozen=True, slots=True)
class Drift:
    """Hold the values that nodes of one pool differ in, the most frequent first, with the nodes of each.

    `group` is by what `pools` keeps them together, `pool` what to call them. `rolling` tells that all nodes
    of one value joined or came back lately: a rollout may be under way.
    """

    pool: str
    group: tuple[str, ...]
    values: dict[str, list[Object]]
    rolling: bool

    @property
    def nodes(self) -> list[str]:
        """Return the names of the nodes that have another value than most."""
        return [name(node) for nodes in list(self.values.values())[1:] for node in nodes]

    @property
    def told(self) -> str:
        """Say which values there are and on how many nodes: `550.90.07 (62), 535.161.08 (2)`."""
        return ", ".join(f"{value} ({len(nodes)})" for value, nodes in list(self.values.items())[:4])


def drift(nodes: Iterable[Object], value: Callable[[Object], str], now: datetime) -> Iterator[Drift]:
    """Yield each pool whose nodes are known to have a value, with what it is; more than one is a drift."""
    for group, members in pools(nodes).items():
        values: dict[str, list[Object]] = {}
        for node in members:
            if found := value(node):
                values.setdefault(found, []).append(node)
        if values:
            ordered = dict(sorted(values.items(), key=lambda item: -len(item[1])))
            rolling = any(_lately(alike, now) for alike in ordered.values())
            yield Drift(shown(members[0]), group, ordered, rolling)


def _lately(nodes: Sequence[Object], now: datetime) -> bool:
    times = [came_back(node) for node in nodes]
    return all(time is not None and now - time < _ROLLING for time in times)
