from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.model import Node
from evenpace.collect.slurm.nodes import alike, gpu_nodes, gpu_type, out_of_service, planned, reporting, spare
from evenpace.collect.snapshot import Snapshot


@pytest.mark.parametrize(
    ("states", "out", "free"),
    [
        (("IDLE",), False, True),
        (("IDLE", "CLOUD", "POWERED_DOWN"), False, True),
        (("IDLE", "DRAIN"), True, False),
        (("MIXED", "DRAIN"), True, False),
        (("DOWN", "NOT_RESPONDING"), True, False),
        (("IDLE", "MAINT", "RESERVED"), False, False),
        (("IDLE", "NOT_RESPONDING"), False, False),
        (("ALLOCATED",), False, False),
        (("UNKNOWN", "INVAL"), True, False),
    ],
)
def test_what_states_mean(states: tuple[str, ...], out: bool, free: bool) -> None:
    node = Node("gpu-1", states)
    assert (out_of_service(node), spare(node)) == (out, free)


def test_what_is_planned_and_what_reports() -> None:
    assert planned(Node("a", ("DOWN", "MAINT")))
    assert planned(Node("a", ("IDLE", "REBOOT_ISSUED")))
    assert not planned(Node("a", ("DOWN",)))
    assert reporting(Node("a", ("IDLE", "DRAIN")))
    assert not reporting(Node("a", ("IDLE", "POWERED_DOWN")))


def test_nodes_that_are_only_planned_are_no_gpu_nodes() -> None:
    nodes = (Node("a", ("IDLE",), gpus=8), Node("b", ("FUTURE",), gpus=8), Node("c", ("IDLE",)))
    slurm = Slurm(Snapshot("slurm", "", datetime(2026, 11, 29, tzinfo=UTC), {"nodes": nodes}), ("nodes",))
    assert [node.name for node in gpu_nodes(slurm)] == ["a"]


def test_alike_is_the_same_hardware_in_the_same_partitions() -> None:
    one = Node("a", partitions=("train", "all"), gres="gpu:h200:8(S:0-1)", cpus=96, memory=2000)
    two = Node("b", partitions=("all", "train"), gres="gpu:h200:7", cpus=96, memory=2000)
    other = Node("c", partitions=("debug",), gres="gpu:h200:8", cpus=96, memory=2000)
    assert [[node.name for node in group] for group in alike((one, two, other)).values()] == [
        ["a", "b"],
        ["c"],
    ]
    assert gpu_type(Node("d", gres="gpu:8")) == ""
