"""Judge whether pods with accelerators wait for something that more patience does not bring."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.fields import Object, table, text
from evenpace.collect.kubernetes.gangs import active, belongs_to, scheduler_says, unplaced, waiting_since
from evenpace.collect.kubernetes.workloads import pod_gpus
from evenpace.findings import Subject

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
DEFAULT = ("", "default-scheduler")
FULL = "Insufficient "  # of accelerators: they come free when others end
AWAITED = ("nvidia.com/", "amd.com/", "google.com/tpu", "habana.ai/", "aws.amazon.com/", "gpu.intel.com/")

Waiting = tuple[datetime, Object]


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each owner of pods with accelerators."""
    found: dict[str, list[Waiting]] = {}
    for pod in active(cluster):
        late = found.setdefault(belongs_to(pod), [])
        since = waiting_since(pod)
        if since is not None and cluster.now - since > (DAY if turn_comes(pod) else HOUR):
            late.append((since, pod))
    for name, late in found.items():
        yield told(name, late, cluster.now) if late else FINE


def turn_comes(pod: Object) -> bool:
    """Tell whether a pod waits for others to end: the GPUs are taken, or a scheduler with queues decides."""
    says = scheduler_says(pod)
    queued = text(pod, "spec", "schedulerName") not in DEFAULT
    return queued or any(f"{FULL}{resource}" in says for resource in AWAITED)


def told(name: str, late: list[Waiting], now: datetime) -> Gap:
    """Return the gap of the pods of one owner; the one that has waited longest speaks for all."""
    since, pod = min(late, key=lambda one: one[0])
    details = {
        "pods": len(late),
        "hours": int((now - since).total_seconds() // 3600),
        "gpus": sum(pod_gpus(table(one, "spec")) for _, one in late),
    }
    when = since.isoformat().replace("+00:00", "Z")
    return Gap(Subject(kind="object", object=name), (unplaced(pod),), details, when)
