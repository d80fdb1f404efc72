"""Say whose jobs Slurm pushes out, and how: `PreemptType`, `PreemptMode` and what partitions say instead."""

from __future__ import annotations

from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.model import Partition


def preemption(slurm: Slurm) -> str:
    """Return `partition_prio`, `qos` or another type of preemption; empty where there is none."""
    kind = slurm.config.text("PreemptType").rpartition("/")[2]
    return "" if kind == "none" else kind


def modes(slurm: Slurm, partition: Partition | None) -> frozenset[str]:
    """Return how jobs of a partition may be preempted, such as REQUEUE; a partition's own mode goes first."""
    if not preemption(slurm):
        return frozenset()
    own = partition.preempt_mode if partition else ""
    words = own.split(",") if own else slurm.config.words("PreemptMode")
    return frozenset(word.strip().upper() for word in words) - {"OFF", "GANG"}


def outranked(slurm: Slurm) -> frozenset[str]:
    """Return the partitions that share a node with one of a higher priority tier."""
    highest: dict[str, int] = {}
    for partition in slurm.partitions:
        for node in partition.nodes:
            highest[node] = max(highest.get(node, 0), tier(partition))
    return frozenset(
        one.name for one in slurm.partitions if any(highest[node] > tier(one) for node in one.nodes)
    )


def tier(partition: Partition) -> int:
    """Return a partition's priority tier, 1 where it is not told."""
    return 1 if partition.priority_tier is None else partition.priority_tier
