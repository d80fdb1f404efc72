"""Judge whether each node that is out of service says why."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import node_state, node_subject
from evenpace.collect.slurm.model import Node
from evenpace.collect.slurm.nodes import gpu_nodes, out_of_service, planned

# `Not responding` is what slurmctld writes by itself; the others say nothing either.
EMPTY = {"", "none", "n/a", "(null)", "not responding", "unknown", "?", ".", "-", "x"}
NEW = timedelta(hours=1)  # a node that went down a moment ago may be looked at right now


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each GPU node: one in maintenance, rebooting or switched off has its reason."""
    for node in gpu_nodes(slurm):
        since = node.reason_time
        if explained(node) or (since and slurm.now - since < NEW):
            yield FINE
        else:
            yield Gap(node_subject(node), (node_state(node),), since=since.isoformat() if since else None)


def explained(node: Node) -> bool:
    """Tell whether a node is in service, or out of it with a word that says why."""
    return not out_of_service(node) or planned(node) or node.reason.strip().casefold() not in EMPTY
