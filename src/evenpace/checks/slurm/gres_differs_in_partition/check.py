"""Judge whether a node offers fewer GPUs than nodes of the same hardware."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.evidence import node_subject
from evenpace.collect.slurm.model import Node
from evenpace.collect.slurm.nodes import alike, gpu_nodes
from evenpace.findings import Evidence

LEAST = 3  # nodes that agree, so that there is something usual
SLICE = re.compile(r"[0-9]g[._][0-9]")  # a MIG device, `1g.10gb`: their numbers differ on purpose


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each GPU node: half or a quarter of the usual number is another model, 7 of 8 is not."""
    for pool in alike(filter(whole, gpu_nodes(slurm))).values():
        usual, agreeing = Counter(node.gpus or 0 for node in pool).most_common(1)[0]
        for node in pool:
            offered = node.gpus or 0
            if agreeing < LEAST or agreeing < len(pool) * 0.7 or offered >= usual or usual % offered == 0:
                yield FINE
                continue
            evidence = Evidence(source=f"scontrol show node {node.name}", text=f"Gres={node.gres}")
            yield Gap(node_subject(node), (evidence,), {"gpus": offered, "usual": usual, "peers": agreeing})


def whole(node: Node) -> bool:
    """Tell whether a node's hardware is told, and its GPUs are of one kind and not sliced."""
    return bool(node.cpus and node.memory) and node.gres.count("gpu:") == 1 and not SLICE.search(node.gres)
