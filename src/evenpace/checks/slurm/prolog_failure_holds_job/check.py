"""Judge whether a job goes on elsewhere when the Prolog finds a bad node."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a cluster with a Prolog."""
    if not slurm.config.text("Prolog"):
        return
    if "nohold_on_prolog_fail" in slurm.config.words("SchedulerParameters"):
        yield FINE
    else:
        yield Gap(CLUSTER, (setting(slurm, "Prolog"), setting(slurm, "SchedulerParameters")))
