from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.simulate.made import Job, Row, trace

from evenpace.errors import Problem
from evenpace.simulate.traces.model import NUMBERS, Trace, build
from evenpace.simulate.whatif.analysis import Cause, WhatIf, analyse
from evenpace.simulate.whatif.graph import graph_of
from evenpace.simulate.whatif.grid import Grid, grid_of
from evenpace.simulate.whatif.ideal import ideal
from evenpace.simulate.whatif.replay import alone_times, step_times, transfers


def traced(rows: list[Row]) -> Trace:
    names = sorted({str(row["optype"]) for row in rows})
    kinds = np.array([names.index(str(row["optype"])) for row in rows])
    return build("made", names, kinds, {n: np.array([float(row[n]) for row in rows]) for n in NUMBERS})


def whatif(job: Job) -> WhatIf:
    return analyse(grid_of(traced(trace(job))))


def gridded(job: Job) -> Grid:
    return grid_of(traced(trace(job)))


def noise(seed: int, spread: float) -> Callable[[int, int, int, int], float]:
    def work(replica: int, stage: int, step: int, mb: int) -> float:
        return max(0.1, random.Random(f"{seed} {replica} {stage} {step} {mb}").gauss(1, spread))

    return work


SHAPES = st.builds(
    Job,
    replicas=st.integers(1, 4),
    stages=st.integers(1, 4),
    micro_batches=st.integers(1, 6),
    steps=st.integers(1, 3),
    work=st.integers(0, 1000).map(lambda seed: noise(seed, 0.1)),
)


@given(SHAPES)
@settings(max_examples=40)
def test_the_replay_of_a_trace_without_gaps_is_the_trace(job: Job) -> None:
    grid = gridded(job)
    graph = graph_of(grid)
    cost = transfers(graph, grid.start, grid.duration)
    kept = np.ones((1, len(grid.operations), len(grid.replicas)), dtype=np.bool_)
    assert step_times(graph, cost, np.zeros(1), kept)[0] == pytest.approx(grid.recorded)


@given(st.integers(2, 3), st.integers(2, 3), st.integers(1, 4), st.integers(0, 1000))
@settings(max_examples=20)
def test_model_chunks_are_followed_round_the_stages(stages: int, chunks: int, mbs: int, seed: int) -> None:
    job = Job(2, stages, mbs, chunks, steps=2, work=noise(seed, 0.1))
    assert whatif(job).fidelity == pytest.approx(1.0)


@given(SHAPES)
@settings(max_examples=20)
def test_one_replica_alone_is_a_scenario_like_any(job: Job) -> None:
    grid = gridded(job)
    graph = graph_of(grid)
    cost = transfers(graph, grid.start, grid.duration)
    count = len(grid.replicas)
    kept = np.zeros((count, len(grid.operations), count), dtype=np.bool_)
    kept[np.arange(count), :, np.arange(count)] = True
    best = ideal(grid, cost)
    expected = step_times(graph, cost, best, kept)
    if count == 1:  # its ideal twin is there all the same, and may be the slower one
        none = step_times(graph, cost, best, ~kept)
        assert (alone_times(graph, cost, best) >= expected - 1e-9).all()
        assert (alone_times(graph, cost, best) <= np.maximum(expected, none) + 1).all()
    else:
        assert alone_times(graph, cost, best) == pytest.approx(expected)


def test_all_alike_is_no_slowdown() -> None:
    found = whatif(Job())
    assert found.slowdown == pytest.approx(1.0)
    assert [blame.cause for blame in found.blames] == [Cause.NONE]


def test_steps_that_take_no_time_are_no_slowdown() -> None:
    nothing = [row | {"start_ts": 0.0, "duration": 0.0} for row in trace(Job())]
    assert [blame.cause for blame in analyse(grid_of(traced(nothing))).blames] == [Cause.NONE]


@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.05, 0.1, 0.3]), st.integers(2, 6), st.integers(1, 3))
@settings(max_examples=60)
def test_noise_accuses_nobody(seed: int, spread: float, replicas: int, stages: int) -> None:
    found = whatif(Job(replicas, stages, work=noise(seed, spread)))
    assert {blame.cause for blame in found.blames} <= {Cause.NONE, Cause.UNEVEN, Cause.STAGE, Cause.NOBODY}


@given(
    st.integers(3, 6),
    st.integers(1, 3),
    st.integers(0, 5),
    st.integers(0, 2),
    st.floats(1.3, 4),
    st.integers(0, 999),
)
@settings(max_examples=40)
def test_a_slow_worker_is_named_and_nobody_else(
    replicas: int, stages: int, replica: int, stage: int, factor: float, seed: int
) -> None:
    slow = (replica % replicas, stage % stages)
    usual = noise(seed, 0.03)

    def work(d: int, s: int, t: int, m: int) -> float:
        return usual(d, s, t, m) * (factor if (d, s) == slow else 1)

    found = whatif(Job(replicas, stages, work=work))
    blame = found.blames[0]
    assert blame.cause is Cause.WORKER
    assert [(part.replica, part.stage) for part in blame.parts] == [slow]
    assert blame.parts[0].ratio == pytest.approx(factor, rel=0.1)
    assert blame.share > 0.5
    assert found.workers[0].rank == slow[0] * stages + slow[1]


def test_two_slow_workers_are_named_together() -> None:
    slow = {(1, 0), (3, 1)}
    found = whatif(Job(8, work=lambda d, s, t, m: 2.0 if (d, s) in slow else 1.0))
    assert [(part.replica, part.stage) for part in found.blames[0].parts] == [(1, 0), (3, 1)]
    assert all((one.share or 0.0) < 0.5 for one in found.workers)  # neither explains it alone


@pytest.mark.parametrize(
    ("job", "cause", "names"),
    [
        (Job(work=lambda d, s, t, m: 1.5 if s == 1 else 1.0), Cause.STAGE, ["1"]),
        (Job(work=lambda d, s, t, m: 1.5 if d == 2 else 1.0), Cause.REPLICA, ["2"]),
        (Job(1, 4, work=lambda d, s, t, m: 1.5 if s == 2 else 1.0), Cause.STAGE, ["2"]),
        (Job(2, 1, work=lambda d, s, t, m: 1.4 if d == 1 else 1.0), Cause.NOBODY, []),  # either may be odd
        (
            Job(4, 4, transfer=lambda way, d, s: 2.0 if (way, d, s) == ("forward", 1, 1) else 0.01),
            Cause.LINK,
            ["5 -> 6"],
        ),
        (
            Job(8, work=lambda d, s, t, m: random.Random(f"{d} {t} {m}").uniform(0.5, 2)),
            Cause.UNEVEN,
            [],
        ),
    ],
)
def test_what_is_no_worker_is_called_what_it_is(job: Job, cause: Cause, names: list[str]) -> None:
    found = whatif(job)
    assert found.blames[0].cause is cause
    assert [part.name for part in found.blames[0].parts] == names


def test_sequences_of_unequal_length_show_in_forward_and_backward() -> None:
    together = whatif(Job(8, work=lambda d, s, t, m: random.Random(f"{d} {t} {m}").uniform(0.5, 2)))
    assert together.agreement == pytest.approx(1.0)


def test_figures_fit_together() -> None:
    found = whatif(Job(work=lambda d, s, t, m: 2.0 if (d, s) == (1, 0) else 1.0))
    assert found.slowdown == found.actual / found.ideal
    assert found.lost == pytest.approx((found.actual - found.ideal) * found.steps)
    assert found.worst == pytest.approx(found.workers[0].share)
    assert found.workers[0].slowdown == min(found.replicas[0].slowdown, found.stages[0].slowdown)


def test_a_pipeline_without_recorded_transfers_is_followed_all_the_same() -> None:
    rows = [
        row
        for row in trace(Job(transfer=lambda way, d, s: 0.0))
        if not str(row["optype"]).endswith(("-send", "-recv"))
    ]
    assert analyse(grid_of(traced(rows))).fidelity == pytest.approx(1.0)


def test_transfers_that_do_not_fit_are_a_problem() -> None:
    rows = [row for row in trace(Job()) if not (row["optype"] == "forward-send" and row["seq_id"] == 3)]
    with pytest.raises(Problem, match="stage 0 has 3 forward-send a step for 4 forward-compute"):
        graph_of(grid_of(traced(rows)))


def test_overlapped_gradients_follow_the_last_backward_of_their_chunk() -> None:
    rows = trace(Job())
    separate = [
        row | {"optype": "separate-grads-all-reduce"}
        for row in rows
        if row["optype"] == "optimizer-clip-main-grad"
    ]
    grid = grid_of(traced([*rows, *(row | {"duration": 0.0} for row in separate)]))
    kinds = {
        (grid.operations[one].type, grid.operations[two].type)
        for meeting in graph_of(grid)
        for two, before in zip(meeting.members, meeting.before, strict=True)
        for one in before
    }
    assert ("backward-compute", "grads-reduce-scatter") in kinds
    assert ("grads-reduce-scatter", "layernorm-grads-all-reduce") in kinds
    assert ("separate-grads-all-reduce", "optimizer-clip-main-grad") in kinds
