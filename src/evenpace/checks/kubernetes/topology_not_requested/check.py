"""Judge whether training over several nodes asks for a place within one part of the network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, quoted, subject, where
from evenpace.collect.kubernetes.fields import Object, labels, table
from evenpace.collect.kubernetes.runs import Created, Run, joined, several_nodes, training
from evenpace.collect.kubernetes.topology import LABELS, asks_for_place
from evenpace.collect.kubernetes.workloads import Workload, capacity, gpu_nodes, gpus
from evenpace.findings import Evidence

Node = tuple[Mapping[str, str], int, Object]  # its labels, its accelerators, the node
TOPOLOGIES = "topologies.kueue.x-k8s.io"
_LARGE = 16  # accelerators: below that a run fits on two nodes


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each run over several nodes that has room within one part of the network."""
    nodes = [(labels(node), gpus(capacity(node)), node) for node in gpu_nodes(cluster)]
    placed_by_kueue = bool(cluster.objects(TOPOLOGIES))
    created = Created(cluster)
    levels: dict[str, list[tuple[str, int, Object]]] = {}
    for run in training(cluster):
        if not joined(run) or not several_nodes(run) or run.gpus < _LARGE:
            continue
        part = max(run.asking, key=lambda one: one.pods * one.gpus)
        selector = table(part.spec, "nodeSelector")
        key = quoted(selector)
        if key not in levels:
            levels[key] = _levels(nodes, selector)
        level = next((found for found in levels[key] if found[1] >= run.gpus), None)
        asked = asks_for_place(run) or (placed_by_kueue and _queued(run))
        if level is None or asked or _placed(created.pod(run)):
            yield FINE
            continue
        label, _, node = level
        shown = Evidence(source=f"{where(node)} .metadata.labels", text=f"{label}: {labels(node)[label]}")
        affinity = evidence(run.object, *part.path, "spec", "affinity")
        yield Gap(subject(run.object), (affinity, shown), {"gpus": run.gpus, "label": label})


def _levels(nodes: Sequence[Node], selector: Object) -> list[tuple[str, int, Object]]:
    """Return (label, accelerators under its largest value, a node) of labels that divide the nodes."""
    fitting = [node for node in nodes if all(node[0].get(key) == value for key, value in selector.items())]
    found = []
    for label in LABELS:
        rooms: Counter[str] = Counter()
        for named, accelerators, _ in fitting:
            rooms[named.get(label, "")] += accelerators
        if len(rooms) > 1 and "" not in rooms:
            found.append((label, max(rooms.values()), fitting[0][2]))
    return found


def _placed(pod: Workload | None) -> bool:
    """Tell whether a live pod was given a place by admission or a controller."""
    return pod is not None and asks_for_place(Run("pods", pod.object, (pod,)))


def _queued(run: Run) -> bool:
    return "kueue.x-k8s.io/queue-name" in labels(run.object)
