"""Judge whether jobs that are pushed out get time to save."""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap, Unsure
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import CLUSTER, partition_subject, setting
from evenpace.collect.slurm.nodes import gpu_nodes
from evenpace.collect.slurm.preemption import modes, outranked, preemption
from evenpace.findings import Evidence

DEADLY = {"CANCEL", "REQUEUE"}


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each partition with GPUs; the grace of a QOS is not among the facts."""
    kind = preemption(slurm)
    if kind == "qos" and DEADLY & modes(slurm, None):
        yield Unsure(CLUSTER)
    if kind != "partition_prio":
        return
    lower, with_gpus = outranked(slurm), {node.name for node in gpu_nodes(slurm)}
    for partition in slurm.partitions:
        if with_gpus.isdisjoint(partition.nodes):
            continue
        how = DEADLY & modes(slurm, partition)
        if partition.name in lower and how and not partition.grace:
            source = f"scontrol show partition {partition.name}"
            told = Evidence(source=source, text=f"GraceTime={partition.grace or 0:g}")
            yield Gap(partition_subject(partition.name), (setting(slurm, "PreemptMode"), told))
        else:
            yield FINE
