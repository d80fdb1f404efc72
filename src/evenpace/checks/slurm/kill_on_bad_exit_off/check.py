"""Judge whether Slurm ends a step when one of its tasks dies."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting
from evenpace.collect.slurm.nodes import gpu_nodes


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a cluster with several GPU nodes."""
    value = slurm.config.text("KillOnBadExit")
    if len(gpu_nodes(slurm)) < 2 or not value:
        return
    yield Gap(CLUSTER, (setting(slurm, "KillOnBadExit"),)) if value == "0" else FINE
