"""Judge whether another host can take over the controller."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting
from evenpace.collect.slurm.nodes import gpu_nodes

LEAST = 16  # GPU nodes of a cluster for which a second controller is worth its work


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a larger cluster; a virtual address (SlurmctldAddr) is high availability of another kind."""
    hosts = slurm.config.words("SlurmctldHost")
    if len(gpu_nodes(slurm)) < LEAST or not hosts:
        return
    alone = len(hosts) == 1 and not slurm.config.text("SlurmctldAddr")
    yield Gap(CLUSTER, (setting(slurm, "SlurmctldHost"),)) if alone else FINE
