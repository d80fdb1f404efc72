"""Judge whether somebody looks at GPUs before a large run starts on them: the cluster, or the run itself."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.agents import DETECTORS, called
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.conditions import about_accelerators, others
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import items, text
from evenpace.collect.kubernetes.pools import cloud
from evenpace.collect.kubernetes.runs import Created, Run, joined, mentions, several_nodes, training
from evenpace.collect.kubernetes.workloads import Workload, gpu_nodes

_GROUPS = ("initContainers", "containers")
_WORDS = (
    *("dcgm", "nvidia-smi", "nccl-test", "nccl_test", "all_reduce_perf", "preflight", "pre-flight"),
    *("healthcheck", "health-check", "health_check", "gpu-check", "gpu_check", "gpu-burn", "gpu_burn"),
    *("ib_write_bw", "nhc", "rvs", "rocm-smi", "amd-smi", "warmup", "sanity"),
)


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each run over several nodes."""
    watched, created = _watched(cluster), Created(cluster)
    for run in training(cluster):
        if not joined(run) or not several_nodes(run):
            continue
        if watched or mentions(run, *_WORDS) or _before(run, created.pod(run)):
            yield FINE
        else:
            part = run.asking[0]
            quoted = (evidence(run.object, *part.path, "spec", "initContainers"),)
            yield Gap(subject(run.object), quoted, {"pods": run.pods, "gpus": run.gpus})


def _watched(cluster: Cluster) -> bool:
    """Tell whether an agent looks at the nodes: one that is seen, one whose conditions are, or a cloud's."""
    if any(called(one, DETECTORS) for one in cluster.objects("daemonsets.apps")):
        return True
    nodes = gpu_nodes(cluster)
    return any(cloud(node) or any(map(about_accelerators, others(node))) for node in nodes)


def _before(run: Run, pod: Workload | None) -> bool:
    """Tell whether anything runs before the training, or a container is named for a check.

    Of a live pod only names count: controllers add init containers of their own.
    """
    if any(items(part.spec, "initContainers") for part in run.asking):
        return True
    specs = [part.spec for part in (*run.parts, pod) if part is not None]
    found = [one for spec in specs for group in _GROUPS for one in items(spec, group)]
    names = (f"{text(one, 'name')} {text(one, 'image')}" for one in found)
    return any(word in name for name in names for word in _WORDS)
