"""Judge whether volumes in memory fit into the memory limit of the containers that write to them."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, flag, items, quantity, text
from evenpace.collect.kubernetes.runs import Path, containers, runs
from evenpace.collect.kubernetes.workloads import Workload


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each workload with accelerators that mounts a volume in memory with a size of its own."""
    for run in runs(cluster):
        sized = [pair for part in run.asking for pair in _sized(part)]
        over = [pair for pair in sized if pair[1] > pair[3]]
        if over:
            volume, size, memory, limit = over[0]
            quoted = evidence(run.object, *volume), evidence(run.object, *memory)
            details = {"size": f"{size / 2**30:.4g} GiB", "limit": f"{limit / 2**30:.4g} GiB"}
            yield Gap(subject(run.object), quoted, details)
        elif sized:
            yield FINE


def _sized(part: Workload) -> Iterator[tuple[Path, float, Path, float]]:
    """Yield (path of a volume's size, the size, path of the memory limit, the limit), bytes."""
    volumes = {text(one, "name"): place for place, one in enumerate(items(part.spec, "volumes"))}
    for path, container in containers(part):
        memory, limit = _limit(part, path, container)
        for mount in items(container, "volumeMounts"):
            place = volumes.get(text(mount, "name"))
            if place is None or limit is None or flag(mount, "readOnly"):
                continue
            volume = items(part.spec, "volumes")[place]
            size = quantity(volume, "emptyDir", "sizeLimit")
            if text(volume, "emptyDir", "medium") == "Memory" and size is not None:
                where = (*part.path, "spec", "volumes", place, "emptyDir", "sizeLimit")
                yield where, size, memory, limit


def _limit(part: Workload, path: Path, container: Object) -> tuple[Path, float | None]:
    """Return the memory limit of a container, or of its whole pod where it has none of its own."""
    keys = ("resources", "limits", "memory")
    own = quantity(container, *keys)
    if own is not None:
        return (*path, *keys), own
    return (*part.path, "spec", *keys), quantity(part.spec, *keys)
