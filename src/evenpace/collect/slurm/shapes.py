"""Nodes, partitions, reservations: from text and JSON of all versions to the structs of `model`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from evenpace.collect.kubernetes.fields import dig
from evenpace.collect.slurm import values
from evenpace.collect.slurm.hostlist import Hostlists
from evenpace.collect.slurm.model import Node, Partition, Reservation
from evenpace.collect.slurm.records import trusted
from evenpace.collect.slurm.values import instant, integer, minutes, plain, span, states, tres_gpus, words

Object = Mapping[str, Any]
_REASON = re.compile(r"(?:^|\s)Reason=(.*?)(?: \[([^\]@\s]+)@([0-9T:-]{19}|Unknown)\]|$)")


def node_of_text(record: str, _: Hostlists) -> Node:
    """Read a record of `scontrol show node`."""
    found = trusted(record)
    reason = _REASON.search(record)
    gres = plain(found.get("Gres"))
    used = found.get("GresUsed")
    return Node(
        name=found.get("NodeName", ""),
        states=states(found.get("State")),
        reason=plain(reason.group(1)) if reason else "",
        reason_user=plain(reason.group(2)) if reason else "",
        reason_time=instant(reason.group(3)) if reason else None,
        partitions=words(found.get("Partitions")),
        features=words(found.get("ActiveFeatures") or found.get("AvailableFeatures")),
        gres=gres,
        gpus=values.gpus(gres),
        gpus_used=values.gpus(used) if used is not None else tres_gpus(found.get("AllocTRES", "")),
        cpus=integer(found.get("CPUTot")),
        memory=integer(found.get("RealMemory")),
        os=plain(found.get("OS")),
        version=plain(found.get("Version")),
        booted=instant(found.get("BootTime")),
        slurmd_started=instant(found.get("SlurmdStartTime")),
        last_busy=instant(found.get("LastBusyTime")),
    )


def node_of_json(found: Object, _: Hostlists) -> Node:
    """Read a member of `nodes` of `scontrol show node --json`, or of `sinfo --json` up to 22.05."""
    gres = plain(found, "gres")
    used = dig(found, "gres_used")
    return Node(
        name=plain(found, "name"),
        states=states(found.get("state"), found.get("state_flags")),
        reason=plain(found, "reason"),
        reason_user=plain(found, "reason_set_by_user"),
        reason_time=instant(found, "reason_changed_at"),
        partitions=words(found, "partitions"),
        features=words(found, "active_features") or words(found, "features"),
        gres=gres,
        gpus=values.gpus(gres),
        gpus_used=values.gpus(used) if isinstance(used, str) else tres_gpus(plain(found, "tres_used")),
        cpus=integer(found, "cpus"),
        memory=integer(found, "real_memory"),
        os=plain(found, "operating_system"),
        version=plain(found, "version") or plain(found, "slurmd_version"),
        booted=instant(found, "boot_time"),
        slurmd_started=instant(found, "slurmd_start_time"),
        last_busy=instant(found, "last_busy"),
    )


def nodes_of_sinfo(groups: Iterable[Object]) -> tuple[Node, ...]:
    """Read the groups of alike nodes that `sinfo --json` prints since 23.02: one for each partition."""
    nodes: dict[str, Node] = {}
    for group in groups:
        gres, partition = plain(group, "gres", "total"), words(plain(group, "partition", "name"))
        for name in words(group, "nodes", "nodes"):
            known = nodes[name].partitions if name in nodes else ()
            nodes[name] = Node(
                name=name,
                states=states(dig(group, "node", "state")),
                reason=plain(group, "reason", "description"),
                reason_user=plain(group, "reason", "user"),
                reason_time=instant(group, "reason", "time"),
                partitions=known + partition,
                features=words(group, "features", "active"),
                gres=gres,
                gpus=values.gpus(gres),
                cpus=integer(group, "cpus", "maximum"),
                memory=integer(group, "memory", "maximum"),
            )
    return tuple(nodes.values())


def partition_of_text(record: str, lists: Hostlists) -> Partition:
    """Read a record of `scontrol show partition`."""
    found = trusted(record)
    return Partition(
        name=found.get("PartitionName", ""),
        states=states(found.get("State")),
        nodes=lists.expand(found.get("Nodes", "")),
        default=found.get("Default") == "YES",
        max_time=span(found.get("MaxTime")),
        default_time=span(found.get("DefaultTime")),
        preempt_mode=plain(found.get("PreemptMode")),
        grace=_seconds(found.get("GraceTime")),
        priority_tier=integer(found.get("PriorityTier")),
    )


def _seconds(value: object) -> float | None:
    found = integer(value)
    return None if found is None else float(found)


def partition_of_json(found: Object, lists: Hostlists) -> Partition:
    """Read a member of `partitions` of `scontrol show partition --json`."""
    flags = {one.upper() for one in (*words(found, "flags"), *words(found, "partition", "flags"))}
    return Partition(
        name=plain(found, "name"),
        states=states(dig(found, "partition", "state")),
        nodes=lists.expand(plain(found, "nodes", "configured")),
        default="DEFAULT" in flags,
        max_time=minutes(found, "maximums", "time"),
        default_time=minutes(found, "defaults", "time"),
        preempt_mode="+".join(words(found, "preempt_mode")),
        grace=_seconds(dig(found, "grace_time")),
        priority_tier=integer(found, "priority", "tier"),
    )


def reservation_of_text(record: str, lists: Hostlists) -> Reservation:
    """Read a record of `scontrol show reservation`."""
    found = trusted(record)
    return Reservation(
        name=found.get("ReservationName", ""),
        nodes=lists.expand(found.get("Nodes", "")),
        users=words(found.get("Users")),
        accounts=words(found.get("Accounts")),
        flags=words(found.get("Flags")),
        states=states(found.get("State")),
        partition=plain(found.get("PartitionName")),
        start=instant(found.get("StartTime")),
        end=instant(found.get("EndTime")),
    )


def reservation_of_json(found: Object, lists: Hostlists) -> Reservation:
    """Read a member of `reservations` of `scontrol show reservation --json`."""
    return Reservation(
        name=plain(found, "name"),
        nodes=lists.expand(plain(found, "node_list")),
        users=words(found, "users"),
        accounts=words(found, "accounts"),
        flags=words(found, "flags"),
        partition=plain(found, "partition"),
        start=instant(found, "start_time"),
        end=instant(found, "end_time"),
    )
