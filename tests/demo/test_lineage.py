"""Each sample exactly once: counted over restarts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.demo.lineage import effective, final_loss, trace

STEPS = 30


def log(starts: list[tuple[int, int]]) -> list[str]:
    """Write the log of processes that each trained steps `first` to `last`; a step is its own sample."""
    lines: list[dict[str, object]] = []
    for first, last in starts:
        lines.append({"started": 0.0, "step": first})
        lines += [{"step": step, "ids": [step]} for step in range(first, last)]
    return [json.dumps(line) for line in lines]


@st.composite
def restarts(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Return runs that each begin at or before where the one before ended, the last going to the end."""
    runs: list[tuple[int, int]] = []
    reached = 0
    for _ in range(draw(st.integers(0, 4))):
        first = draw(st.integers(0, reached))
        reached = draw(st.integers(first, STEPS))
        runs.append((first, reached))
    return [*runs, (draw(st.integers(0, reached)), STEPS)]


@given(restarts())
def test_a_restart_from_a_checkpoint_trains_each_step_once(runs: list[tuple[int, int]]) -> None:
    steps, _ = effective(log(runs))
    assert steps == {step: [step] for step in range(STEPS)}


def test_repeated_steps_are_counted() -> None:
    assert effective(log([(0, 17), (10, 30)]))[1] == 7


@pytest.mark.parametrize(
    ("runs", "exact"), [([(0, 17), (10, 30)], True), ([(0, 17), (18, 30)], False), ([(0, 29)], False)]
)
def test_a_gap_is_seen(runs: list[tuple[int, int]], exact: bool, tmp_path: Path) -> None:
    (tmp_path / "rank0.jsonl").write_text("\n".join(log(runs)))
    assert trace(tmp_path, STEPS).exact is exact


def test_a_sample_trained_by_two_ranks_is_seen(tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"rank{rank}.jsonl").write_text("\n".join(log([(0, STEPS)])))
    lineage = trace(tmp_path, STEPS)
    assert (lineage.once, lineage.exact) == (0, False)


def test_the_last_final_loss_counts() -> None:
    assert final_loss(["step 1 loss 3\nfinal loss 2.5\n", "[rank0] final loss 1.25"]) == 1.25
    assert final_loss(["no end"]) is None
