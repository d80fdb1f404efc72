"""Judge whether a Volcano job starts again after a failed or evicted pod."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, dig, items, text
from evenpace.collect.kubernetes.runs import training
from evenpace.collect.kubernetes.workloads import Workload


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each Volcano job that asks for accelerators and has not ended."""
    for run in training(cluster):
        final = [part for part in run.asking if ends_for_good(run.object, part)]
        if not final:
            yield FINE
        else:
            task = final[0].path[:-1]
            quoted = (
                evidence(run.object, "spec", "policies"),
                evidence(run.object, *task, "policies"),
                evidence(run.object, *task, "template", "spec", "restartPolicy"),
            )
            yield Gap(subject(run.object), quoted, {"pods": run.pods, "gpus": run.gpus})


def ends_for_good(job: Object, part: Workload) -> bool:
    """Tell whether neither kubelet nor a policy, of the task or the job, starts a task again."""
    task = dig(job, *part.path[:-1])
    policies = (*items(task, "policies"), *items(job, "spec", "policies"))
    restarts = any(text(policy, "action").startswith("Restart") for policy in policies)
    return text(part.spec, "restartPolicy") == "Never" and not restarts
