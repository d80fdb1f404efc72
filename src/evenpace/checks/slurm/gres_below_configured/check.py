"""Judge whether nodes have the GPUs that slurm.conf says."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import node_state, node_subject
from evenpace.collect.slurm.nodes import gpu_nodes, out_of_service

# slurmctld writes `gres/gpu count reported lower than configured (7 < 8)`.
REASON = "gres/gpu count reported lower than configured"


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each GPU node."""
    for node in gpu_nodes(slurm):
        if REASON in node.reason and out_of_service(node):
            since = node.reason_time.isoformat() if node.reason_time else None
            yield Gap(node_subject(node), (node_state(node),), {"gpus": node.gpus or 0}, since)
        else:
            yield FINE
