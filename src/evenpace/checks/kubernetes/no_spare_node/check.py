"""Judge whether a node is free to take the place of one that fails under the largest training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from evenpace.checks.answers import FINE, Answer, Details, Gap, Unsure
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.fields import Object, name, number, table, text
from evenpace.collect.kubernetes.gangs import active, gangs
from evenpace.collect.kubernetes.pools import grows_by_itself, in_service, pools, shown, usual_taints
from evenpace.collect.kubernetes.workloads import capacity, gpu_nodes, gpus, pod_gpus
from evenpace.findings import Evidence, Subject

_LARGE = 4  # nodes of a training from which on a spare is asked for


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each kind of machine that a large training runs on; Karpenter may make nodes when asked."""
    busy: dict[str, list[Object]] = {}
    for pod in active(cluster):
        busy.setdefault(text(pod, "spec", "nodeName"), []).append(pod)
    kinds: dict[tuple[str, ...], list[Object]] = {}
    for alike, members in pools(gpu_nodes(cluster)).items():
        kinds.setdefault(alike[1:], []).extend(members)
    used = [(gang, {text(pod, "spec", "nodeName") for pod in gang.pods} - {""}) for gang in gangs(cluster)]
    for members in kinds.values():
        here = {name(node) for node in members}
        sizes = [len(homes & here) for _, homes in used]
        size = max(sizes, default=0)
        if size < _LARGE:
            continue
        gang, homes = used[sizes.index(size)]
        usual = usual_taints(members)
        sound = [node for node in members if in_service(node, usual) and gpus(capacity(node))]
        own = _priority(gang.pods)
        mine = {id(pod) for pod in gang.pods}
        most = max(_held(pod for pod in busy.get(home, ()) if id(pod) in mine) for home in homes)
        spare = [node for node in sound if _room(node, busy.get(name(node), []), own) >= most]
        about = {"pool": shown(members[0]), "training": gang.name}
        details: Details = {**about, "nodes": len(members), "size": size}
        if spare:
            yield FINE
        elif any(map(grows_by_itself, members)):
            yield Unsure(Subject(kind="object", object=gang.name), details)
        else:
            told = f"{len(members)} nodes, {len(sound)} in service, none with {most} GPUs to spare"
            listing = Evidence(source=f"list nodes, pods: {shown(members[0])}", text=told)
            yield Gap(Subject(kind="object", object=gang.name), (listing,), details)


def _room(node: Object, pods: Sequence[Object], own: float) -> int:
    """Return the accelerators of a node that are free, or held by pods that would be pushed out."""
    return gpus(capacity(node)) - _held(pod for pod in pods if _priority([pod]) >= own)


def _held(pods: Iterable[Object]) -> int:
    return sum(pod_gpus(table(pod, "spec")) for pod in pods)


def _priority(pods: Sequence[Object]) -> float:
    return max((number(pod, "spec", "priority") or 0 for pod in pods), default=0.0)
