"""Judge whether the health check runs often enough."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting

LONGEST = 3600.0  # seconds


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a cluster whose health check runs at intervals."""
    interval = slurm.config.seconds("HealthCheckInterval")
    only = [word for word in slurm.config.words("HealthCheckNodeState") if word.upper().endswith("_ONLY")]
    if not slurm.config.text("HealthCheckProgram") or not interval or only:
        return
    if interval > LONGEST:
        yield Gap(CLUSTER, (setting(slurm, "HealthCheckInterval"),), {"hours": f"{interval / 3600:.3g}"})
    else:
        yield FINE
