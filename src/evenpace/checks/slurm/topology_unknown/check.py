"""Judge whether Slurm knows which nodes are close to each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import setting
from evenpace.collect.slurm.nodes import gpu_nodes
from evenpace.findings import Subject

MOST = 32  # GPU nodes that one leaf switch or scalable unit commonly holds
FLAT = {"", "none", "default", "flat"}


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for a cluster with a large partition of GPU nodes; topology.yaml goes before the plug-in."""
    sizes = Counter(name for node in gpu_nodes(slurm) for name in node.partitions)
    name, size = max(sizes.items(), key=lambda item: (item[1], item[0]), default=("", 0))
    if size <= MOST:
        return
    plugin = slurm.config.text("TopologyPlugin").rpartition("/")[2].casefold()
    told = slurm.written("topology")
    if plugin not in FLAT or "SwitchName=" in told or "BlockName=" in told:
        yield FINE
    else:
        subject = Subject(kind="object", object=f"Partition/{name}")
        yield Gap(subject, (setting(slurm, "TopologyPlugin"),), {"nodes": size})
