"""Say what the states of Slurm's nodes mean, and which nodes are alike."""

from __future__ import annotations

from collections.abc import Iterable

from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.model import Node

_OUT = {"DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "INVAL", "INVALID_REG"}
_SWITCHED = {"POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "POWERING_UP", "POWER_UP", "POWERED_UP"}
_SWITCHED_OFF = {"POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN"}
_PLANNED = {"MAINT", "REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED"}
_MADE_UP = {"FUTURE", "UNKNOWN"}  # such a node only stands in slurm.conf


def gpu_nodes(slurm: Slurm) -> tuple[Node, ...]:
    """Return the nodes with GPUs that exist: without those that are only planned (FUTURE)."""
    return tuple(node for node in slurm.nodes if node.gpus and not _MADE_UP & set(node.states))


def out_of_service(node: Node) -> bool:
    """Tell whether a node takes no new job: down, drained, draining or failed."""
    return bool(_OUT & set(node.states))


def planned(node: Node) -> bool:
    """Tell whether a node is in maintenance, rebooting or switched on or off to save power."""
    return bool((_PLANNED | _SWITCHED) & set(node.states))


def spare(node: Node) -> bool:
    """Tell whether a node could take a job now: idle and in service, or switched off to save power."""
    states = set(node.states)
    return "IDLE" in states and not out_of_service(node) and not (_PLANNED | {"NOT_RESPONDING"}) & states


def reporting(node: Node) -> bool:
    """Tell whether slurmd runs on a node now, so that what it told of itself is not old."""
    return not {"DOWN", "NOT_RESPONDING", *_SWITCHED_OFF, *_MADE_UP} & set(node.states)


def alike(nodes: Iterable[Node]) -> dict[tuple[str, ...], list[Node]]:
    """Group nodes of the same hardware (GPU type, processors, memory) in the same partitions."""
    groups: dict[tuple[str, ...], list[Node]] = {}
    for node in nodes:
        partitions = ",".join(sorted(set(node.partitions)))
        key = (partitions, gpu_type(node), str(node.cpus), str(node.memory))
        groups.setdefault(key, []).append(node)
    return groups


def gpu_type(node: Node) -> str:
    """Return `h200` of `gpu:h200:8(S:0-1)`; empty where no type is configured."""
    for gres in node.gres.split(","):
        parts = gres.partition("(")[0].split(":")
        if parts[0] == "gpu" and len(parts) == 3:
            return parts[1]
    return ""
