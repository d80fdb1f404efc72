"""Judge whether a node has been out of service for more than a week."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import node_state, node_subject
from evenpace.collect.slurm.nodes import gpu_nodes, out_of_service, planned

LONG = timedelta(days=7)


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each GPU node; without a time nothing is said of a node."""
    for node in gpu_nodes(slurm):
        since = node.reason_time
        if since and out_of_service(node) and not planned(node) and slurm.now - since > LONG:
            details = {"days": (slurm.now - since).days, "gpus": node.gpus or 0}
            yield Gap(node_subject(node), (node_state(node),), details, since.isoformat())
        else:
            yield FINE
