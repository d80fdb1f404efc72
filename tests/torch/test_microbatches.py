"""Gradients and samples are the same however replicas share the micro-batches; all change at one step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenpace.collect.job.rings import RingReader

pytestmark = pytest.mark.torch


def test_plans_change_neither_parameters_nor_samples(launch: Callable[..., Any], tmp_path: Path) -> None:
    found = launch("uneven.py", 4)
    for layout in ("ddp", "hsdp"):
        assert found[layout]["apart"] < 1e-12
        assert found[layout]["complete"]
        assert found[layout]["alike"]
    assert found["ddp"]["wrong"] < 1e-15
    counts = found["ddp"]["counts"]
    assert counts[2] == [2, 2, 2, 2]
    assert counts[3] == counts[6] == [5, 1, 1, 1]  # announced at 2
    assert counts[7] == [2, 2, 2, 2]
    assert counts[11] == counts[16] == [1, 3, 2, 2]  # the plan at 14 is not one
    assert counts[20:] == [[1, 1, 1, 5]] * 4
    assert "is ignored: 36 micro-batches instead of 8" in found["said"]
    assert found["hsdp"]["counts"][4] == [7, 1]
    assert found["offer"]["microbatches"] == {"total": 8, "least": 1, "replicas": [[0, 1], [2, 3]]}
    headers = {
        header.rank: header for header in (RingReader(path).header() for path in tmp_path.glob("*.ring"))
    }
    assert {rank: header.micro_batches for rank, header in headers.items()} == {0: 3, 1: 3, 2: 5, 3: 5}
    for header in headers.values():
        assert (header.loop_step, header.plan_version, header.plan_step) == (24, 13, 15)
        assert header.micro_batch_ns > 0


def test_a_layout_that_would_deadlock_is_refused(launch: Callable[..., Any]) -> None:
    found = launch("refused.py", 2, tap="off")
    assert "0.weight is sharded over ranks 0, 1" in found["sharded"]
    assert 'mesh.get_group("replicate")' in found["sharded"]
    assert "1 is normalised over ranks 0, 1" in found["normalised"].replace("module.", "")
    assert "too few" in found["few"]
    assert found["ddp"] == found["hsdp"] == ""
    assert found["tokens"] < 1e-14


def test_a_loop_without_evenpace_has_even_counts(alone: Any) -> None:
    from torch import nn

    from evenpace.torch import MicroBatches

    with MicroBatches(3, model=nn.Linear(2, 2)) as batches:
        for _ in range(4):
            steps = list(batches.step())
    assert [(micro.index, micro.last) for micro in steps] == [(0, False), (1, False), (2, True)]
    assert {micro.scale for micro in steps} == {1 / 3}


def test_numbers_that_cannot_be_are_refused(alone: Any) -> None:
    from torch import nn

    from evenpace.torch import MicroBatches

    with pytest.raises(ValueError, match="least is below 1"):
        MicroBatches(4, model=nn.Linear(2, 2), least=0)
    with pytest.raises(TypeError, match="integer"):
        MicroBatches(4.5, model=nn.Linear(2, 2))  # type: ignore[arg-type]
