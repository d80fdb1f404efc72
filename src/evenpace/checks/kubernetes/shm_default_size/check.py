"""Judge whether pods with several GPUs have more shared memory than the container runtime's default."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, flag, items, quantity, table, text
from evenpace.collect.kubernetes.runs import Path, containers, runs
from evenpace.collect.kubernetes.workloads import Workload
from evenpace.findings import Evidence

_GPUS = ("nvidia.com/gpu", "amd.com/gpu")
# A volume at either of them takes the place of the default.
_SHARED = ("/dev/shm", "/dev")  # noqa: S108


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each workload whose containers ask for more than one GPU."""
    for run in runs(cluster):
        asking = ((part, path, one) for part in run.asking for path, one in containers(part))
        several = [found for found in asking if _gpus(found[2]) > 1]
        small = [(path, one) for part, path, one in several if not _shared(part, one)]
        if small:
            path, one = small[0]
            yield Gap(subject(run.object), _quoted(run.object, path), {"gpus": int(_gpus(one))})
        elif several:
            yield FINE


def _gpus(container: Object) -> float:
    limits = table(container, "resources", "limits")
    return max((quantity(limits, name) or 0.0 for name in _GPUS), default=0.0)


def _shared(part: Workload, container: Object) -> bool:
    """Tell whether processes of the container share memory of the host, or a volume of their own."""
    mounts = {text(mount, "mountPath").rstrip("/") for mount in items(container, "volumeMounts")}
    return bool(flag(part.spec, "hostIPC")) or not mounts.isdisjoint(_SHARED)


def _quoted(one: Object, path: Path) -> tuple[Evidence, ...]:
    return evidence(one, *path, "volumeMounts"), evidence(one, *path, "resources", "limits")
