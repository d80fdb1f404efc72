"""Judge whether slurmctld notices a dead node within minutes."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, setting

LONGEST = 600.0  # seconds; the default is 300


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for the cluster: 0 means that slurmctld never takes a silent node out."""
    wait = slurm.config.seconds("SlurmdTimeout")
    if wait is None:
        return
    evidence = (setting(slurm, "SlurmdTimeout"),)
    yield Gap(CLUSTER, evidence, {"seconds": f"{wait:g}"}) if wait == 0 or wait > LONGEST else FINE
