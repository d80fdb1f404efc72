"""Judge whether a deadline will soon end a Job that has run for long."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.kubernetes.cluster import Cluster
from evenpace.collect.kubernetes.evidence import evidence, subject
from evenpace.collect.kubernetes.fields import Object, flag, instant, number
from evenpace.collect.kubernetes.policies import LARGE
from evenpace.collect.kubernetes.workloads import finished, templates

KIND = "jobs.batch"
HOUR = 3600.0
LONG = 4 * HOUR  # a Job that has run for less loses little
USED_UP = 0.8  # of the deadline
SOON = 24 * HOUR


def check(cluster: Cluster) -> Iterator[Answer]:
    """Answer for each large Job that runs, also for those of a JobSet: a deadline ends them alike."""
    for job in cluster.objects(KIND):
        gpus = sum(one.gpus * one.pods for one in templates(KIND, job))
        since = instant(job, "status", "startTime")
        if gpus < LARGE or since is None or flag(job, "spec", "suspend") or finished(job):
            continue
        ran = (cluster.now - since).total_seconds()
        if not ends_soon(job, ran):
            yield FINE
        else:
            left = max(0.0, (number(job, "spec", "activeDeadlineSeconds") or 0.0) - ran)
            quoted = (evidence(job, "spec", "activeDeadlineSeconds"), evidence(job, "status", "startTime"))
            yield Gap(subject(job), quoted, {"hours": f"{left / HOUR:.1f}", "gpus": gpus})


def ends_soon(job: Object, ran: float) -> bool:
    """Tell whether a Job that has run for `ran` seconds is near its deadline."""
    deadline = number(job, "spec", "activeDeadlineSeconds")
    if deadline is None or ran < LONG:
        return False
    return ran >= USED_UP * deadline and deadline - ran <= SOON
