"""Judge whether pods with several GPUs have more shared memory than the container runtime's default."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, flag, items, quantity, table, text
from evenpace.collect.kubernetes.runs import Created, Path, containers, runs
from evenpace.collect.kubernetes.workloads import Workload
from evenpace.findings import Evidence

_GPUS = ("nvidia.com/gpu", "amd.com/gpu")
# A volume at either of them takes the place of the default.
_SHARED = ("/dev/shm", "/dev")  # noqa: S108


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each workload whose containers ask for more than one GPU."""
    created = Created(cluster)
    for run in runs(cluster):
        several = [found for part in run.asking for found in _several(part)]
        small = [(path, one) for part, path, one in several if not _shared(part, one)]
        if small and _small_too(created.pod(run)):
            path, one = small[0]
            yield Gap(subject(run.object), _quoted(run.object, path), {"gpus": int(_gpus(one))})
        elif several:
            yield FINE


def _several(part: Workload) -> list[tuple[Workload, Path, Object]]:
    return [(part, path, one) for path, one in containers(part) if _gpus(one) > 1]


def _small_too(pod: Workload | None) -> bool:
    """Tell whether a live pod has the default as well; no pod says nothing for the run."""
    return pod is None or any(not _shared(part, one) for part, _, one in _several(pod))


def _gpus(container: Object) -> float:
    limits = table(container, "resources", "limits")
    return max((quantity(limits, name) or 0.0 for name in _GPUS), default=0.0)


def _shared(part: Workload, container: Object) -> bool:
    """Tell whether processes of the container share memory of the host, or a volume of their own."""
    mounts = {text(mount, "mountPath").rstrip("/") for mount in items(container, "volumeMounts")}
    return bool(flag(part.spec, "hostIPC")) or not mounts.isdisjoint(_SHARED)


def _quoted(one: Object, path: Path) -> tuple[Evidence, ...]:
    return evidence(one, *path, "volumeMounts"), evidence(one, *path, "resources", "limits")
