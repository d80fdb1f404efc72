"""Training as it stands in a cluster: the pod templates of one object together, and what they are told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.fields import Object, items, name, namespace, owner, strings, table, text
from evenpace.collect.kubernetes.workloads import Workload, pod_gpus, templates, workloads

# Bare pods are notebooks and trials; these serve models or keep state, and their pods come back in place.
_NOT_TRAINING = ("pods", "statefulsets.apps", "leaderworkersets.leaderworkerset.x-k8s.io")
_LONGEST_NAME = 253
_MOST_OF_A_NODE = 8  # accelerators that a common node has
# A Job's pods may well be independent of each other; these words show that they train together.
_TOGETHER = (
    "MASTER_ADDR",
    "torchrun",
    "torch.distributed",
    "deepspeed",
    "mpirun",
    "nnodes",
    "jax.distributed",
)

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Hold the templates of one object; `asking` are those that ask for accelerators."""

    kind: str
    object: Object
    parts: tuple[Workload, ...]

    @property
    def asking(self) -> tuple[Workload, ...]:
        """Return the templates that ask for accelerators and have pods."""
        return tuple(one for one in self.parts if one.gpus and one.pods)

    @property
    def pods(self) -> int:
        """Return how many pods ask for accelerators."""
        return sum(one.pods for one in self.asking)

    @property
    def gpus(self) -> int:
        """Return the accelerators of all pods."""
        return sum(one.pods * one.gpus for one in self.asking)


def runs(cluster: Cluster) -> Iterator[Run]:
    """Yield each workload that asks for accelerators, of any declared kind, also serving and notebooks."""
    yield from _grouped(workloads(cluster))


def training(cluster: Cluster) -> Iterator[Run]:
    """Yield the workloads with accelerators that a controller of training runs to an end."""
    yield from _grouped(workloads(cluster, _NOT_TRAINING))


def _grouped(found: Iterator[Workload]) -> Iterator[Run]:
    for _, parts in groupby(found, key=lambda one: id(one.object)):
        together = tuple(parts)
        run = Run(together[0].kind, together[0].object, together)
        if run.gpus:
            yield run


class Created:
    """Find a live pod of a run, as admission left it: webhooks add volumes, tolerations and containers.

    A pod is known by the beginning of its name, so it may be that of another run: it can only speak for one.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pods: dict[tuple[str, str], Object] | None = None

    def pod(self, run: Run) -> Workload | None:
        """Return a pod with accelerators; None where none is seen."""
        if self._pods is None:
            self._pods = dict(self._named())
        found = self._pods.get((namespace(run.object), name(run.object)))
        return next(templates("pods", found), None) if found is not None else None

    def _named(self) -> Iterator[tuple[tuple[str, str], Object]]:
        """Yield ((namespace, beginning of the name up to a dash), pod)."""
        for pod in self._cluster.objects("pods"):
            if owner(pod) and pod_gpus(table(pod, "spec")):
                whole = name(pod)[:_LONGEST_NAME]
                for place, letter in enumerate(whole):
                    if letter == "-":
                        yield (namespace(pod), whole[:place]), pod


def joined(run: Run) -> bool:
    """Tell whether the pods of a run are several and train together, rather than side by side.

    Workers of a Ray cluster are told at run time what they do, so nothing is claimed of them.
    """
    if run.pods < 2 or run.kind == "rayclusters.ray.io":
        return False
    return run.kind != "jobs.batch" or mentions(run, *_TOGETHER) or bool(text(run.parts[0].spec, "subdomain"))


def several_nodes(run: Run) -> bool:
    """Tell whether a run is sure to need more than one node, whatever the nodes of the cluster are."""
    whole = any(one.gpus >= _MOST_OF_A_NODE for one in run.asking)
    return run.pods > 1 and (whole or run.gpus > 2 * _MOST_OF_A_NODE)


def containers(one: Workload) -> Iterator[tuple[Path, Object]]:
    """Yield (path in the object, container) of the containers that ask for accelerators."""
    for place, container in enumerate(items(one.spec, "containers")):
        if pod_gpus({"containers": [container]}):
            yield (*one.path, "spec", "containers", place), container


@dataclass(frozen=True, slots=True)
class Variable:
    """Hold one environment variable; `value` is None where it comes from elsewhere in the cluster."""

    value: str | None
    path: Path


def variables(one: Workload) -> dict[str, Variable]:
    """Return the environment of the containers that ask for accelerators, by name; the last entry counts."""
    found: dict[str, Variable] = {}
    for path, container in containers(one):
        for place, entry in enumerate(items(container, "env")):
            value = None if entry.get("valueFrom") else text(entry, "value")
            found[text(entry, "name")] = Variable(value, (*path, "env", place))
    return found


def hidden(run: Run) -> bool:
    """Tell whether a whole ConfigMap or Secret becomes variables, so that none is surely unset."""
    return any(items(container, "envFrom") for one in run.asking for _, container in containers(one))


def mentions(run: Run, *words: str) -> bool:
    """Tell whether a word stands in a container's command, its arguments, or the names of its variables."""
    return any(word in said for one in run.parts for said in _said(one) for word in words)


def _said(one: Workload) -> Iterator[str]:
    for group in ("containers", "initContainers"):
        for container in items(one.spec, group):
            yield from strings(container, "command")
            yield from strings(container, "args")
            yield from (text(entry, "name") for entry in items(container, "env"))
