"""Judge whether nodes that are alike run the same kernel and the same slurmd."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from evenpace.checks.answers import FINE, Answer, Gap
from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.model import Node
from evenpace.collect.slurm.nodes import alike, gpu_nodes, out_of_service, planned, reporting
from evenpace.findings import Evidence, Subject

_QUOTED = 4
_NAMED = 8


def check(slurm: Slurm) -> Iterator[Answer]:
    """Answer for each pool of GPU nodes of the same hardware in the same partitions.

    Nodes that are down, drained or about to reboot may be under an update, so they say nothing.
    """
    settled = [node for node in gpu_nodes(slurm) if not planned(node) and not out_of_service(node)]
    nodes = [node for node in settled if reporting(node)]
    for group, pool in alike(nodes).items():
        kinds = Counter(software(node) for node in pool)
        usual, count = kinds.most_common(1)[0]
        odd = [node for node in pool if software(node) != usual]
        if not odd or not all(all(kind) for kind in kinds):
            yield FINE
            continue
        peer = next(node for node in pool if software(node) == usual)
        evidence = tuple(quoted(node) for node in (*odd[:_QUOTED], peer))
        details: dict[str, str | int] = {"odd": len(odd), "peers": count}
        names = ", ".join(node.name for node in odd[:_NAMED]) + (" …" if len(odd) > _NAMED else "")
        details |= {"kernel": usual[0], "slurmd": usual[1], "names": names}
        known_by = (*group, *sorted(map(" ".join, kinds)))
        yield Gap(
            Subject(kind="node", node=[node.name for node in odd]), evidence, details, known_by=known_by
        )


def software(node: Node) -> tuple[str, str]:
    """Return the kernel release (`5.14.0-427.el9.x86_64`) and the version of slurmd."""
    words = node.os.split()
    return (words[1] if len(words) > 1 else node.os, node.version)


def quoted(node: Node) -> Evidence:
    """Quote what a node runs."""
    return Evidence(source=f"scontrol show node {node.name}", text=f"OS={node.os} Version={node.version}")
