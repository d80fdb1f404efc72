"""A plan is read by rank 0, checked, and takes effect in the step after its announcement."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.torch


def refuse(counts: Sequence[int]) -> str:
    return "" if sum(counts) == 8 else "they are not 8 in all"


def write(path: Path, content: object) -> None:
    aside = path.with_suffix(".new")
    aside.write_text(content if isinstance(content, str) else json.dumps(content))
    os.replace(aside, path)  # noqa: PTH105


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the plan of a worker that seems to have a ring."""
    from evenpace.torch import telling

    monkeypatch.setattr(telling, "beside", lambda suffix: tmp_path / f"node.1{suffix}")
    return tmp_path / "node.1.plan"


def test_a_plan_takes_effect_in_the_next_step(alone: Any, plan: Path) -> None:
    from evenpace.torch.agreement import Agreement, Plan

    agreement = Agreement("counts", 2, refuse)
    assert agreement.step() is None
    write(plan, {"version": 1, "counts": [3, 5]})
    assert agreement.step() is None
    write(plan, {"version": 2, "counts": [4, 4]})
    assert agreement.step() == Plan(1, (3, 5))
    assert agreement.step() == Plan(2, (4, 4))
    assert agreement.step() is None
    agreement.close()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"version": 2, "counts": [3, 5]}, "not a number above 2"),
        ({"version": True, "counts": [3, 5]}, "not a number above 2"),
        ({"version": 3, "counts": [3, 4]}, "not 8 in all"),
        ({"version": 3, "counts": [3, 5, 0]}, "3 counts instead of 2"),
        ({"version": 3, "counts": [9, -1]}, "not a list of numbers"),
        ({"version": 3, "counts": [1 << 70, 5]}, "not a list of numbers"),
        ({"version": 3, "counts": "35"}, "not a list of numbers"),
        ({"version": 3, "counts": {"3": 5}}, "not a list of numbers"),
        ({"counts": [3, 5]}, "not a number above 2"),
    ],
)
def test_a_bad_plan_is_ignored_and_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object, why: str
) -> None:
    from evenpace.torch.agreement import Plan, PlanFile

    path = tmp_path / "plan"
    file = PlanFile(path, "counts", 2, refuse)
    write(path, {"version": 2, "counts": [4, 4]})
    assert file.newest() == Plan(2, (4, 4))
    write(path, content)
    assert file.newest() == file.newest() == Plan(2, (4, 4))
    said = capsys.readouterr().err
    assert why in said
    assert said.count("is ignored") == 1


@pytest.mark.parametrize("content", [{"version": 1, "positions": [1, 0]}, "[" * 100_000, "", "[1]"])
def test_what_is_no_plan_of_ours_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object
) -> None:
    from evenpace.torch.agreement import PlanFile

    path = tmp_path / "plan"
    write(path, content)
    assert PlanFile(path, "counts", 2, refuse).newest() is None
    assert capsys.readouterr().err == ""


def test_offers_are_added_to_each_other(plan: Path) -> None:
    from evenpace.torch import telling

    telling.offer("microbatches", {"total": 8})
    telling.offer("positions", {"data": 2})
    found = json.loads(plan.with_suffix(".offer").read_text())
    assert found == {"microbatches": {"total": 8}, "positions": {"data": 2}}


def test_without_a_ring_nothing_is_said() -> None:
    from evenpace.torch import telling, work

    assert telling.beside(".plan") is None
    telling.offer("microbatches", {"total": 8})
    telling.tell(loop_step=1)
    work(10, 100)


def test_a_plan_that_is_no_file_is_not_waited_for(plan: Path) -> None:
    from evenpace.torch import telling

    os.mkfifo(plan)
    writer = os.open(plan, os.O_RDWR)  # and says nothing
    assert telling.read(plan) == {}
    os.close(writer)


def test_an_offer_is_not_put_through_what_is_no_file(plan: Path) -> None:
    from evenpace.torch import telling

    os.mkfifo(plan.with_name("node.1.offer.new"))
    os.mkfifo(plan.with_name("node.1.offer"))
    telling.offer("microbatches", {"total": 8})
    assert telling.read(plan.with_name("node.1.offer")) == {"microbatches": {"total": 8}}


def test_a_refusal_that_nobody_can_read_ends_no_training(
    alone: Any, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evenpace.torch.agreement import Agreement

    agreement = Agreement("counts", 2, refuse)
    write(plan, {"version": 1, "counts": [1, 1]})
    monkeypatch.setattr("sys.stderr", None)
    assert agreement.step() is None
    agreement.close()
