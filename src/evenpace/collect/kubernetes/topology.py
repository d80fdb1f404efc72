"""Which nodes are close to each other in the network, by their labels, and which runs ask for that."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.collect.kubernetes.fields import Object, items, table, text
from evenpace.collect.kubernetes.runs import Run
from evenpace.collect.kubernetes.workloads import Workload

# The closest level first: a switch or block of racks, then what is above.
LABELS = (
    *("network.topology.nvidia.com/leaf", "network.topology.nvidia.com/block", "fabric.topograph.run/tier-0"),
    *("backend.coreweave.cloud/leafgroup", "ib.coreweave.cloud/leafgroup", "crusoe.ai/pod.id"),
    *("cloud.google.com/gce-topology-subblock", "topology.k8s.aws/network-node-layer-3"),
    *("cloud.provider.com/topology-rack", "network.topology.nvidia.com/spine", "fabric.topograph.run/tier-1"),
    *("ib.coreweave.cloud/superpod", "cloud.google.com/gce-topology-block"),
    *("topology.k8s.aws/network-node-layer-2", "cloud.provider.com/topology-block"),
)
_RULES = ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")
_USUAL = ("", "default-scheduler")


def asks_for_place(run: Run) -> bool:
    """Tell whether a run says where its pods go, or leaves it to a scheduler of its own.

    Annotations of Kueue, KAI and JobSet have `topology` in their names. A scheduler other than that of
    Kubernetes may know topology without being told, so nothing is claimed of its pods.
    """
    marked = any("topology" in str(key) for one in _annotated(run) for key in table(one, "annotations"))
    own = run.kind == "jobs.batch.volcano.sh" or text(run.object, "spec", "schedulerName") not in _USUAL
    return marked or own or any(_placed(one) for one in run.asking)


def _annotated(run: Run) -> Iterator[Object]:
    yield table(run.object, "metadata")
    for one in run.parts:
        yield one.metadata
    for job in items(run.object, "spec", "replicatedJobs"):
        yield table(job, "template", "metadata")


def _placed(one: Workload) -> bool:
    """Tell whether a pod is bound to others or to parts of the network, or to be placed by somebody else."""
    spec = one.spec
    others = text(spec, "schedulerName") not in _USUAL or bool(items(spec, "schedulingGates"))
    together = any(items(spec, "affinity", "podAffinity", rule) for rule in _RULES)
    named = {*table(spec, "nodeSelector"), *_node_labels(spec)}
    named |= {text(rule, "topologyKey") for rule in items(spec, "topologySpreadConstraints")}
    return others or together or not named.isdisjoint(LABELS)


def _node_labels(spec: Object) -> Iterator[str]:
    """Yield the labels of nodes that a pod's node affinity names."""
    affinity = table(spec, "affinity", "nodeAffinity")
    terms = list(items(affinity, _RULES[0], "nodeSelectorTerms"))
    terms += [table(one, "preference") for one in items(affinity, _RULES[1])]
    for term in terms:
        for rule in items(term, "matchExpressions"):
            yield text(rule, "key")
