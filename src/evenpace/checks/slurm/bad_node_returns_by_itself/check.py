"""Judge whether a node that went down comes back unchecked."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting
from evenpace.collect.slurm.nodes import gpu_nodes


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a cluster with GPUs: fine where a health check or a Prolog looks at the node first."""
    if not gpu_nodes(slurm) or not slurm.config.text("ReturnToService"):
        return
    looked_at = slurm.config.text("HealthCheckProgram") or slurm.config.text("Prolog")
    if slurm.config.text("ReturnToService") == "2" and not looked_at:
        keys = ("ReturnToService", "HealthCheckProgram", "Prolog")
        yield Gap(CLUSTER, tuple(setting(slurm, key) for key in keys))
    else:
        yield FINE
