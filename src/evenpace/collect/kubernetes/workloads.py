"""Who asks for accelerators: the pod templates of training's controllers, and what nodes have to give."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.fields import Object, dig, flag, items, number, owner, quantity, table, text
from evenpace.collect.kubernetes.kinds import GROUPS

ACCELERATORS = (
    *("nvidia.com/gpu", "nvidia.com/mig-", "amd.com/gpu", "google.com/tpu", "habana.ai/gaudi"),
    *("aws.amazon.com/neuron", "gpu.intel.com/", "huawei.com/Ascend"),
)
_REPLICA_SPECS = {
    "pytorchjobs.kubeflow.org": "pytorchReplicaSpecs",
    "mpijobs.kubeflow.org": "mpiReplicaSpecs",
    "tfjobs.kubeflow.org": "tfReplicaSpecs",
    "jaxjobs.kubeflow.org": "jaxReplicaSpecs",
}
_FINISHED = ("Complete", "Completed", "Failed", "Succeeded")


@dataclass(frozen=True, slots=True)
class Workload:
    """Hold one pod template: the object it stands in, the pod's metadata and spec, and how many pods.

    `path` leads from the object to what holds the pod's metadata and spec.
    """

    kind: str
    object: Object
    metadata: Object
    spec: Object
    pods: int
    path: tuple[str | int, ...] = ()

    @property
    def gpus(self) -> int:
        """Return the accelerators that one pod asks for."""
        return pod_gpus(self.spec)


def workloads(cluster: Cluster, without: Collection[str] = ()) -> Iterator[Workload]:
    """Yield the templates of all declared kinds of GROUPS["workloads"] but those of `without`.

    What a controller made (a Job of a JobSet, a pod of a Job) and what has ended is left out.
    """
    for kind in GROUPS["workloads"]:
        if cluster.declares(kind) and kind not in without:
            for one in cluster.objects(kind):
                if not owner(one) and not finished(one):
                    yield from templates(kind, one)


def templates(kind: str, one: Object) -> Iterator[Workload]:
    """Yield the pod templates of an object of `kind`."""
    for count, path in _holders(kind, one):
        holder = dig(one, *path)
        yield Workload(kind, one, table(holder, "metadata"), table(holder, "spec"), count, path)


def _holders(kind: str, one: Object) -> Iterator[tuple[int, tuple[str | int, ...]]]:
    """Yield (pods, path of what holds a pod's metadata and spec)."""
    spec = table(one, "spec")
    if kind == "pods":
        yield 1, ()
    elif kind in _REPLICA_SPECS:
        roles = _REPLICA_SPECS[kind]
        for role, replicas in table(spec, roles).items():
            yield _count(replicas, "replicas"), ("spec", roles, role, "template")
    elif kind == "jobsets.jobset.x-k8s.io":
        for place, job in enumerate(items(spec, "replicatedJobs")):
            pods = _count(job, "replicas") * _count(job, "template", "spec", "parallelism")
            yield pods, ("spec", "replicatedJobs", place, "template", "spec", "template")
    elif kind == "jobs.batch.volcano.sh":
        for place, task in enumerate(items(spec, "tasks")):
            yield _count(task, "replicas"), ("spec", "tasks", place, "template")
    elif kind == "rayclusters.ray.io":
        yield 1, ("spec", "headGroupSpec", "template")
        for place, group in enumerate(items(spec, "workerGroupSpecs")):
            yield _count(group, "replicas"), ("spec", "workerGroupSpecs", place, "template")
    elif kind == "leaderworkersets.leaderworkerset.x-k8s.io":
        pods = _count(spec, "replicas") * _count(spec, "leaderWorkerTemplate", "size")
        yield pods, ("spec", "leaderWorkerTemplate", "workerTemplate")
    else:
        count = _count(spec, "parallelism" if kind == "jobs.batch" else "replicas")
        yield count, ("spec", "template")


def _count(value: object, *path: str) -> int:
    found = number(value, *path)
    return 1 if found is None else max(0, min(int(found), 1_000_000))


def finished(one: Object) -> bool:
    """Tell whether a workload has ended."""
    ended = text(one, "status", "phase") in _FINISHED or text(one, "status", "terminalState") in _FINISHED
    state = table(one, "status", "state")
    conditions = items(one, "status", "conditions")
    return (
        ended
        or text(state, "phase") in _FINISHED
        or any(text(c, "type") in _FINISHED and text(c, "status") == "True" for c in conditions)
    )


def accelerator(resource: object) -> bool:
    """Tell whether a resource's name is that of an accelerator."""
    return isinstance(resource, str) and resource.startswith(ACCELERATORS)


def gpus(resources: Object) -> int:
    """Return how many accelerators a table of resources (capacity, limits) holds."""
    counts = (quantity(resources, name) for name in resources if accelerator(name))
    return int(sum(min(max(count, 0.0), 1e6) for count in counts if count is not None))


def pod_gpus(spec: Object) -> int:
    """Return the accelerators that a pod asks for; init containers count where they ask for more."""
    inits = items(spec, "initContainers")
    running = [*items(spec, "containers"), *(one for one in inits if text(one, "restartPolicy") == "Always")]
    return max([sum(map(_asked, running)), *map(_asked, inits)])


def _asked(container: Object) -> int:
    limits, requests = table(container, "resources", "limits"), table(container, "resources", "requests")
    return max(gpus(limits), gpus(requests))


def gpu_nodes(cluster: Cluster) -> tuple[Object, ...]:
    """Return the nodes that have accelerators, also those whose plugin offers none any more."""
    found = (node for node in cluster.objects("nodes") if gpus(capacity(node)) or _labelled(node))
    return cluster.once("nodes", "gpu nodes", lambda: tuple(found))


def capacity(node: Object) -> Object:
    """Return what a node has."""
    return table(node, "status", "capacity")


def _labelled(node: Object) -> bool:
    found = table(node, "metadata", "labels")
    present = dig(found, "nvidia.com/gpu.present") == "true" or bool(text(found, "nvidia.com/gpu.product"))
    return present or bool(text(found, "cloud.google.com/gke-accelerator"))


def schedulable(node: Object) -> bool:
    """Tell whether new pods may be placed on a node."""
    return not flag(node, "spec", "unschedulable")
