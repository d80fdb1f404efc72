"""The fleet: a cluster of GPU nodes as one would wish to find it, filled into a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from evenpace.collect.kubernetes.matching import daemon_runs_on
from evenpace.demo.cluster.daemons import COUNTS
from evenpace.demo.cluster.nodes import gpu_nodes, lease, system_nodes
from evenpace.demo.cluster.parts import addresses, at, manifests, metadata, ready_pod, uid, usual_tolerations
from evenpace.demo.cluster.resources import RESOURCES
from evenpace.demo.cluster.store import Object, Store
from evenpace.demo.cluster.training import Training

NODES = 200
FEWEST = 100  # nodes: the gaps name some
_OLD = {"days": 90.0}


def filled(nodes: int = NODES, now: datetime | None = None) -> Store:
    """Return a store with a fleet of `nodes` GPU nodes, at least FEWEST, without a gap."""
    store = Store()
    for resource, one in objects(nodes, now or store.now()):
        store.create(resource, one)
    return store


def objects(nodes: int, now: datetime) -> Iterator[tuple[str, Object]]:
    """Yield (resource, object) of the fleet, in an order in which they can be created."""
    pools = gpu_nodes(nodes, now)
    system = system_nodes(now)
    machines = [*system, *(node for members in pools.values() for node in members)]
    static = [_old(one, now) for name in ("base", "services", "queueing") for one in manifests(name)]
    for one in static:
        yield _resource(one), _started(one)
    for node in machines:
        yield "nodes", node
        yield "leases.coordination.k8s.io", lease(node, now)
    yield from _agents(machines, now)
    yield from _serving(static, system, now)
    names = {pool: [node["metadata"]["name"] for node in members] for pool, members in pools.items()}
    yield from Training(now, names).objects()
    yield from _events(machines, now)


def _old(one: Object, now: datetime) -> Object:
    about = one["metadata"]
    place = f"{one['kind']}/{about.get('namespace', '')}/{about['name']}"
    return {**one, "metadata": {**about, "uid": uid(place), "creationTimestamp": at(now, **_OLD)}}


def _resource(one: Object) -> str:
    kind = (one["apiVersion"], one["kind"])
    return next(known.name for known in RESOURCES if (known.api_version, known.kind) == kind)


def _started(one: Object) -> Object:
    """Return a controller with the status of one whose pods all run."""
    if one["kind"] not in ("Deployment", "StatefulSet"):
        return one
    count = one["spec"]["replicas"]
    counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "updatedReplicas"), count)
    return {**one, "status": {**counts, "observedGeneration": 1}}


def _agents(machines: Sequence[Object], now: datetime) -> Iterator[tuple[str, Object]]:
    """Yield the DaemonSets and their pods."""
    free = addresses(32)
    for manifest in manifests("agents"):
        agent = _old(manifest, now)
        placed = [node for node in machines if daemon_runs_on(agent, node)]
        status = {**dict.fromkeys(COUNTS, len(placed)), "observedGeneration": 1, "numberMisscheduled": 0}
        yield "daemonsets.apps", {**agent, "status": status}
        for node in placed:
            name = node["metadata"]["name"]
            yield "pods", _pod(agent, f"{agent['metadata']['name']}-{name}", name, next(free), now)


def _serving(
    static: Sequence[Object], system: Sequence[Object], now: datetime
) -> Iterator[tuple[str, Object]]:
    """Yield the pods of Deployments and StatefulSets, spread over the nodes without GPUs."""
    free, place = addresses(48), 0
    for one in static:
        if one["kind"] in ("Deployment", "StatefulSet"):
            for number in range(one["spec"]["replicas"]):
                node = system[place % len(system)]["metadata"]["name"]
                yield "pods", _pod(one, f"{one['metadata']['name']}-{number}", node, next(free), now)
                place += 1


def _pod(owner: Object, name: str, node: str, address: str, now: datetime) -> Object:
    template = owner["spec"]["template"]
    made, started = at(now, days=30), at(now, days=30, minutes=-1)
    spec = {"tolerations": usual_tolerations(), **template["spec"]}
    spec |= {"nodeName": node, "restartPolicy": "Always"}
    labels = template["metadata"]["labels"]
    return {
        "metadata": metadata(name, owner["metadata"]["namespace"], labels, owner, made),
        "spec": spec,
        "status": ready_pod(spec, made, started, address),
    }


def _events(machines: Sequence[Object], now: datetime) -> Iterator[tuple[str, Object]]:
    """Yield a few events as every cluster has them."""
    for node in machines[:5]:
        name = node["metadata"]["name"]
        seen = at(now, minutes=20)
        yield (
            "events",
            {
                "metadata": metadata(f"{name}.registered", "default", made=seen),
                "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": name},
                "reason": "RegisteredNode",
                "message": f"Node {name} event: Registered Node {name} in Controller",
                "type": "Normal",
                "count": 1,
                "firstTimestamp": seen,
                "lastTimestamp": seen,
                "source": {"component": "node-controller"},
            },
        )
