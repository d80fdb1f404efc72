"""The samples of a step depend on the step and the seed alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.torch


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch, repository: Path) -> Iterator[Any]:
    monkeypatch.syspath_prepend(repository / "examples")
    import data as module  # the examples' own

    yield module
    for name in ("data", "model"):
        sys.modules.pop(name, None)


def samples(data: Any, step: int, *, world_size: int, accumulate: int, first_step: int) -> list[int]:
    """Return the ids that all workers together train in `step`."""
    of_step: list[int] = []
    for rank in range(world_size):
        sampler = data.StepSampler(
            steps=10,
            first_step=first_step,
            batch=24,
            seed=1,
            rank=rank,
            world_size=world_size,
            accumulate=accumulate,
        )
        micro_batches = list(sampler)
        assert len(micro_batches) == len(sampler)
        skip = (step - first_step) * accumulate
        of_step += [i for micro in micro_batches[skip : skip + accumulate] for i in micro]
    return sorted(of_step)


@pytest.mark.parametrize(
    ("world_size", "accumulate", "first_step"), [(1, 1, 0), (4, 3, 0), (2, 2, 5), (3, 1, 7)]
)
def test_neither_workers_nor_restarts_change_a_steps_samples(
    data: Any, world_size: int, accumulate: int, first_step: int
) -> None:
    reference = samples(data, 7, world_size=1, accumulate=1, first_step=0)
    assert samples(data, 7, world_size=world_size, accumulate=accumulate, first_step=first_step) == reference


def test_an_epoch_has_each_sample_once(data: Any) -> None:
    ids = [i for step in range(10) for i in samples(data, step, world_size=2, accumulate=1, first_step=0)]
    assert sorted(ids) == list(range(240))


def test_a_batch_that_cannot_be_shared_is_refused(data: Any) -> None:
    with pytest.raises(SystemExit, match="does not divide"):
        data.StepSampler(steps=1, first_step=0, batch=10, seed=0, world_size=4)
