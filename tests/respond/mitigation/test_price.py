"""What a restart would cost, by the record of the run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evenpace.respond.mitigation.price import STARTING, restart_price

from .conftest import Run

Maker = Callable[..., Run]


def price(run: Run, now: float, started_in: float | None = 20.0) -> float:
    return restart_price(run.recorder.ledger, started_in, now)


def test_without_checkpoints_all_work_since_the_start_is_lost(job: Maker) -> None:
    assert price(job(), 1_600.0) == pytest.approx(620.0)


def test_with_checkpoints_the_work_since_the_newest_is_lost(job: Maker, tmp_path: Path) -> None:
    for name, at in (("step-1", 1_200.0), ("step-2", 1_500.0), (".half-written", 1_590.0)):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
        os.utime(tmp_path / "checkpoints" / name, (at, at))
    run = job(checkpoint_dir=str(tmp_path / "checkpoints"))
    assert price(run, 1_600.0) == pytest.approx(120.0)


def test_a_start_that_was_not_seen_is_supposed(job: Maker) -> None:
    assert price(job(), 1_600.0, started_in=None) == pytest.approx(600.0 + STARTING)


def test_a_folder_that_is_not_there_holds_no_checkpoint(job: Maker, tmp_path: Path) -> None:
    run = job(checkpoint_dir=str(tmp_path / "nowhere"))
    assert price(run, 1_600.0) == pytest.approx(620.0)
