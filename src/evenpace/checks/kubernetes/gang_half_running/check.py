"""Judge whether some pods of a training hold GPUs while others find no node."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.fields import Object, name, namespace, number, table
from evenpace.collect.kubernetes.gangs import Gang, gangs, running, unplaced, waiting_since
from evenpace.collect.kubernetes.policies import elastic_pod
from evenpace.collect.kubernetes.workloads import pod_gpus
from evenpace.findings import Subject

GROUPS = ("podgroups.scheduling.volcano.sh", "podgroups.scheduling.x-k8s.io")
PATIENCE = timedelta(minutes=15)


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each training whose pods stand in the cluster."""
    least = {
        (namespace(group), name(group)): number(group, "spec", "minMember")
        for kind in GROUPS
        for group in cluster.objects(kind)
    }
    for gang in gangs(cluster):
        held = [pod for pod in gang.pods if running(pod)]
        late = sorted(waiting(gang, cluster.now), key=lambda one: one[0])
        if not late or not short(gang, len(held), least.get(gang.group)):
            yield FINE
        else:
            since, pod = late[0]
            details = {
                "running": len(held),
                "waiting": len(late),
                "minutes": int((cluster.now - since).total_seconds() // 60),
                "gpus": sum(pod_gpus(table(one, "spec")) for one in held),
            }
            told = Subject(kind="object", object=gang.name)
            yield Gap(told, (unplaced(pod),), details, since.isoformat().replace("+00:00", "Z"))


def waiting(gang: Gang, now: datetime) -> Iterator[tuple[datetime, Object]]:
    """Yield (since when, pod) of the pods for which the scheduler has found no node for long."""
    for pod in gang.pods:
        since = waiting_since(pod)
        if since is not None and now - since > PATIENCE:
            yield since, pod


def short(gang: Gang, held: int, least: float | None) -> bool:
    """Tell whether a training lacks pods that it needs: those below its group's minimum, else any.

    The tasks of a Volcano job or a PodGroup need not all run: nothing is said without their minimum.
    """
    if not held or any(elastic_pod(table(pod, "spec")) for pod in gang.pods):
        return False
    if least is not None:
        return held < least
    return not gang.name.startswith(("Job/", "PodGroup/"))
