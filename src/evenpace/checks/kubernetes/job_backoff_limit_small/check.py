"""Judge whether the first failed pod of a Job with several pods ends them all."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, items, number, text
from evenpace.collect.kubernetes.runs import training


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each Job with accelerators in several pods that nothing above it starts again."""
    for run in training(cluster):
        if run.pods < 2:
            continue
        job = run.object
        retries, per_index = (number(job, "spec", name) for name in ("backoffLimit", "backoffLimitPerIndex"))
        if retries != 0 or per_index is not None or forgives(job):
            yield FINE
        else:
            quoted = tuple(evidence(job, "spec", name) for name in ("backoffLimit", "podFailurePolicy"))
            yield Gap(subject(job), quoted, {"pods": run.pods, "gpus": run.gpus})


def forgives(job: Object) -> bool:
    """Tell whether a rule replaces pods that ended with some exit code without counting them."""
    rules = items(job, "spec", "podFailurePolicy", "rules")
    ignoring = [rule for rule in rules if text(rule, "action") == "Ignore"]
    return any(text(rule, "onExitCodes", "operator") for rule in ignoring)
