"""Judge whether pods of different trainings fail on one node far more often than on its peers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from statistics import median

from evenpace.checks.answers import FINE, Answer, Details, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import (
    Object,
    condition,
    instant,
    labels,
    name,
    namespace,
    owner,
    table,
    text,
)
from evenpace.collect.kubernetes.pools import pools, shown
from evenpace.collect.kubernetes.workloads import gpu_nodes, pod_gpus, schedulable

_WINDOW = timedelta(days=14)
_LEAST, _TIMES = 3, 5  # different trainings that failed, and how often more than on the median peer
_PEERS = 4  # nodes of a pool
_SHARE = 0.5  # of the node's pods that ended
_TRAINING = (
    *("jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name", "volcano.sh/job-name"),
    *("ray.io/cluster", "batch.kubernetes.io/job-name", "job-name"),
)
# Ends that somebody or something meant.
_MEANT = ("EvictionByEvictionAPI", "PreemptionByScheduler", "DeletionByPodGC", "DeletionByTaintManager")


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each node of a pool of at least four; jobs of one training on a node count once."""
    failed: dict[str, dict[str, Object]] = {}
    ended: Counter[str] = Counter()
    for pod in cluster.objects("pods"):
        home, phase = text(pod, "spec", "nodeName"), text(pod, "status", "phase")
        since = instant(pod, "status", "startTime") or instant(pod, "metadata", "creationTimestamp")
        if phase not in ("Failed", "Succeeded") or since is None or cluster.now - since > _WINDOW:
            continue
        if pod_gpus(table(pod, "spec")) and text(condition(pod, "DisruptionTarget"), "reason") not in _MEANT:
            ended[home] += 1
            if phase == "Failed":
                failed.setdefault(home, {})[_training(pod)] = pod
    for members in pools(gpu_nodes(cluster)).values():
        if len(members) < _PEERS:
            continue
        usual = median(len(failed.get(name(node), ())) for node in members)
        for node in members:
            mine = failed.get(name(node), {})
            few_fail = len(mine) < max(_LEAST, usual * _TIMES) or len(mine) < ended[name(node)] * _SHARE
            if few_fail or not schedulable(node):
                yield FINE
                continue
            told = tuple(evidence(pod, "status", "reason") for pod in list(mine.values())[:3])
            details: Details = {"failed": len(mine), "usual": f"{usual:g}", "pool": shown(node)}
            yield Gap(subject(node), told, details)


def _training(pod: Object) -> str:
    found = labels(pod)
    named = next((found[key] for key in _TRAINING if key in found), text(owner(pod), "name") or name(pod))
    return f"{namespace(pod)}/{named}"
