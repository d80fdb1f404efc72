"""Quote a setting of Slurm as it was read."""

from __future__ import annotations

from evenpace.collect.slurm.cluster import Slurm
from evenpace.findings import Evidence, Subject

CLUSTER = Subject(kind="object", object="slurm")


def setting(slurm: Slurm, key: str) -> Evidence:
    """Quote one setting: `scontrol show config`, `HealthCheckProgram = (null)`."""
    return Evidence(source="scontrol show config", text=f"{key} = {slurm.config.text(key) or '(null)'}")
