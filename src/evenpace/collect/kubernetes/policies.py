"""What the manifests of training say about failures, evictions and a varying number of pods."""

from __future__ import annotations

import re

from evenpace.collect.kubernetes.fields import Object, dig, items, number, strings, table, text
from evenpace.collect.kubernetes.runs import Run

# Accelerators of one common node: from here on somebody waits for a run, below it is a trial.
LARGE = 8
_ENDLESS = ("RestartJobSetAndIgnoreMaxRestarts", "RestartJobAndIgnoreMaxRestarts")
_NODES = re.compile(r"--nnodes[= ]['\"]?[0-9]{1,6}:[0-9]")


def restarts_uncounted(jobset: Object) -> bool:
    """Tell whether a rule of a JobSet starts it again without counting towards `maxRestarts`."""
    rules = items(jobset, "spec", "failurePolicy", "rules")
    return any(text(rule, "action") in _ENDLESS for rule in rules)


def knows_disruptions(job: Object) -> bool:
    """Tell whether the spec of a Job has a rule of its own for pods that were evicted or preempted."""
    return any(
        text(condition, "type") == "DisruptionTarget"
        for rule in items(job, "podFailurePolicy", "rules")
        for condition in items(rule, "onPodConditions")
    )


def elastic(run: Run) -> bool:
    """Tell whether a run goes on with fewer pods, as with `torchrun --nnodes=2:4`."""
    policy = table(run.object, "spec", "elasticPolicy")
    least, most = number(policy, "minReplicas"), number(policy, "maxReplicas")
    ranged = least is not None and most is not None and least < most
    return ranged or any(elastic_pod(one.spec) for one in run.parts)


def elastic_pod(spec: Object) -> bool:
    """Tell whether a pod's launcher takes a varying number of pods."""
    containers = items(spec, "containers")
    words = (word for one in containers for word in (*strings(one, "command"), *strings(one, "args")))
    said = " ".join(words)[:100_000]
    if "--min-np" in said or _NODES.search(said):
        return True
    variables = (variable for one in containers for variable in items(one, "env"))
    return any(dig(one, "name") == "PET_NNODES" and ":" in text(one, "value") for one in variables)
