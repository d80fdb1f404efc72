"""Judge whether the health check reaches a node before the next job does."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap, Unsure
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a cluster with a health check: idle nodes are what the next job gets."""
    states = {word.upper() for word in slurm.config.words("HealthCheckNodeState")}
    if not slurm.config.text("HealthCheckProgram") or not states:
        return
    if states & {"ANY", "IDLE", "NONDRAINED_IDLE"}:
        yield FINE
    elif slurm.config.text("Prolog"):
        yield Unsure(CLUSTER, {"states": ", ".join(sorted(states))})
    else:
        yield Gap(CLUSTER, (setting(slurm, "HealthCheckNodeState"), setting(slurm, "Prolog")))
