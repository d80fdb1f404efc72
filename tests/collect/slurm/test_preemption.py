from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evenpace.collect.slurm.cluster import Slurm
from evenpace.collect.slurm.model import Partition
from evenpace.collect.slurm.preemption import modes, outranked
from evenpace.collect.snapshot import Snapshot


def slurm(config: dict[str, str], *partitions: Partition) -> Slurm:
    kinds = {"config": config, "partitions": partitions}
    return Slurm(Snapshot("slurm", "", datetime(2026, 11, 29, tzinfo=UTC), kinds), tuple(kinds))


@pytest.mark.parametrize(
    ("config", "own", "found"),
    [
        ({"PreemptType": "preempt/none", "PreemptMode": "OFF"}, "REQUEUE", set()),
        ({"PreemptType": "(null)", "PreemptMode": "REQUEUE"}, "", set()),
        ({"PreemptType": "preempt/partition_prio", "PreemptMode": "GANG,REQUEUE"}, "", {"REQUEUE"}),
        ({"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"}, "OFF", set()),
        ({"PreemptType": "preempt/qos", "PreemptMode": "CANCEL"}, "", {"CANCEL"}),
    ],
)
def test_how_jobs_are_preempted(config: dict[str, str], own: str, found: set[str]) -> None:
    assert modes(slurm(config), Partition("low", preempt_mode=own)) == found


def test_who_is_outranked() -> None:
    low = Partition("low", nodes=("a", "b"), priority_tier=1)
    high = Partition("high", nodes=("b", "c"), priority_tier=10)
    apart = Partition("apart", nodes=("d",), priority_tier=0)
    assert outranked(slurm({}, low, high, apart)) == {"low"}
