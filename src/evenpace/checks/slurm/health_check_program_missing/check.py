"""Judge whether slurmd runs a health check on the nodes."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for the cluster: a program that never runs is as good as none."""
    program, interval = slurm.config.text("HealthCheckProgram"), slurm.config.seconds("HealthCheckInterval")
    if program and interval:
        yield FINE
    else:
        yield Gap(CLUSTER, (setting(slurm, "HealthCheckProgram"), setting(slurm, "HealthCheckInterval")))
