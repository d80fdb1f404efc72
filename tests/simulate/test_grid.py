from __future__ import annotations

import numpy as np
import pytest
from tests.simulate.made import Job, Row, trace
from tests.simulate.test_whatif import traced

from evenpace.errors import Problem
from evenpace.simulate.whatif.grid import grid_of


def rows() -> list[Row]:
    return trace(Job(2, 2, 2, steps=3))


def test_a_whole_trace_is_a_block() -> None:
    grid = grid_of(traced(rows()))
    assert grid.start.shape == grid.duration.shape == (len(grid.operations), 2, 3)
    assert grid.steps.tolist() == [3, 13, 23]
    assert grid.ranks.tolist() == [[0, 1], [2, 3]]
    assert grid.left_out.steps == ()
    assert (grid.start.min(axis=(0, 1)) == 0).all()


def test_the_order_of_rows_says_nothing() -> None:
    mixed = rows()
    np.random.default_rng(0).shuffle(mixed)  # type: ignore[arg-type]
    assert grid_of(traced(mixed)).duration.tolist() == grid_of(traced(rows())).duration.tolist()


def test_start_times_may_count_from_any_moment() -> None:
    later = [row | {"start_ts": float(row["start_ts"]) + 1.7e9} for row in rows()]
    assert grid_of(traced(later)).start == pytest.approx(grid_of(traced(rows())).start, abs=1e-5)


def test_an_incomplete_step_is_left_out_and_told() -> None:
    some = rows()
    del some[next(at for at, row in enumerate(some) if row["step"] == 13 and row["optype"] == "optimizer")]
    grid = grid_of(traced(some))
    assert grid.steps.tolist() == [3, 23]
    assert grid.left_out.steps == (13,)
    assert grid.left_out.missing == "optimizer 0 of replica 0, stage 0, step 13"


def test_an_operation_of_few_steps_is_left_out_and_told() -> None:
    once = rows()[0] | {"optype": "layernorm-grads-all-reduce", "seq_id": 7}
    assert grid_of(traced([*rows(), once])).left_out.rare == 1


def test_no_complete_step_is_a_problem() -> None:
    some = [row for row in rows() if not (row["optype"] == "optimizer" and row["rank"] == 1)]
    with pytest.raises(Problem, match="no step of the trace is complete: optimizer 0 of replica 0, stage 1"):
        grid_of(traced(some))


def test_an_operation_twice_is_a_problem() -> None:
    with pytest.raises(
        Problem, match="forward-compute 0 of replica 0, stage 0, step 3 is in the trace twice"
    ):
        grid_of(traced([*rows(), next(row for row in rows() if row["optype"] == "forward-compute")]))


def test_unknown_types_are_left_out_and_told() -> None:
    grid = grid_of(traced([*rows(), rows()[0] | {"optype": "nap"}]))
    assert grid.left_out.unknown == {"nap": 1}
    with pytest.raises(Problem, match=r"no type of operation in the trace is known \(nap\)"):
        grid_of(traced([rows()[0] | {"optype": "nap"}]))


def test_further_ranks_of_a_place_are_left_out_and_told() -> None:
    peers = [row | {"rank": int(row["rank"]) + 100} for row in rows()]
    grid = grid_of(traced([*rows(), *peers]))
    assert grid.ranks.tolist() == [[0, 1], [2, 3]]
    assert grid.left_out.ranks == 4


def test_some_steps_alone_are_a_block_too() -> None:
    grid = grid_of(traced(rows()))
    last = grid.at(np.array([False, False, True]))
    assert last.steps.tolist() == [23]
    assert last.duration.shape[2] == len(last.recorded) == 1


def test_places_that_no_job_has_are_a_problem() -> None:
    wide = [rows()[0] | {"dp_rank": at, "stage": 0, "rank": at} for at in range(1100)]
    wide += [rows()[0] | {"dp_rank": 0, "stage": at, "rank": 5000 + at} for at in range(1100)]
    with pytest.raises(Problem, match="the trace has 1,100 replicas and 1,100 stages"):
        grid_of(traced(wide))
