from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.diagnose.formats.iterations import series_of
from evenpace.diagnose.judges.throughput import judge
from evenpace.diagnose.model import Case, Identity, Line, Source


def case(texts, expected=None, source="train.log", printer=None):
    lines = [Line(source, number, text, printer or Identity()) for number, text in enumerate(texts, start=1)]
    return Case((Source(source),), tuple(lines), series_of(lines), expected=expected)


def noisy(count, seed=1, noise=0.02):
    return np.exp(np.random.default_rng(seed).normal(0, noise, count))


def printed(durations, first=100):
    return [f"step {first + n} loss 2.1 tok/s {50_000 / value:.0f}" for n, value in enumerate(durations)]


def seen(found):
    return [sighting.signature for sighting in found]


def test_a_sudden_and_lasting_drop():
    durations = noisy(200)
    durations[120:] *= 1.3
    (found,) = judge(case(printed(durations)))
    assert found.signature == "throughput-step"
    assert not found.culprit
    assert abs(int(found.captures["step"]) - 220) <= 2
    assert float(found.captures["percent"]) == pytest.approx(30, abs=3)
    assert found.captures["before"].endswith("tok/s")
    assert len(found.lines) <= 8
    assert found.lines[0].number > 119


def test_a_few_lines_suffice_where_the_step_is_unmistakable():
    seconds = [70.11, 70.08, 70.15, 71.0, 75.9, 76.0, 75.95]
    lines = [
        f" iteration {900 + n:8d}/ 9000 | elapsed time per iteration (s): {value} | lm loss: 2.1E+00 | "
        f"samples per second: {2048 / value:.3f} | TFLOPs: {9000 / value:.2f} |"
        for n, value in enumerate(seconds)
    ]
    (found,) = judge(case(lines))
    assert found.signature == "throughput-step"
    assert {line.number for line in found.lines} == set(range(1, 8))


def test_a_larger_batch_takes_longer_and_is_no_slowdown():
    lines = [
        f" iteration {n:8d}/ 9000 | elapsed time per iteration (ms): {size * value * 10:.1f} | "
        f"throughput per GPU (TFLOP/s/GPU): {400 / value:.1f} | global batch size: {size} |"
        for n, (size, value) in enumerate(zip([64] * 60 + [128] * 60, noisy(120), strict=True))
    ]
    assert seen(judge(case(lines))) == []


@pytest.mark.parametrize(
    ("factor", "signature"),
    [
        (np.linspace(1, 1.5, 300), "throughput-drift"),
        (1 + 0.4 * (np.arange(300) % 50) / 50, "throughput-sawtooth"),
        (np.where(np.arange(300) % 20 == 19, 9, 1), "throughput-periodic"),
        (np.where((np.arange(300) > 100) & (np.arange(300) < 170), 2, 1), "throughput-episode"),
    ],
)
def test_each_shape_is_its_own_signature(factor, signature):
    (found,) = judge(case(printed(noisy(300) * factor)))
    assert found.signature == signature
    assert not found.culprit
    assert 0 < len(found.lines) <= 8


def test_below_what_was_expected():
    lines = printed(noisy(60))
    assert seen(judge(case(lines, (60_000, 70_000, "tokens-per-second")))) == ["throughput-below-expected"]
    assert seen(judge(case(lines, (45_000, 55_000, "tokens-per-second")))) == []
    assert seen(judge(case(lines, (10_000, 20_000, "tokens-per-second")))) == []  # faster is no fault
    assert seen(judge(case(lines, (1, 2, "tflops")))) == []


def test_a_server_is_only_held_against_what_was_expected():
    lines = [
        f"Decode batch. #running-req: 9, gen throughput (token/s): {n}" for n in (400,) * 20 + (90,) * 20
    ]
    assert seen(judge(case(lines))) == []
    assert seen(judge(case(lines, (900, 999, "tokens-per-second")))) == ["throughput-below-expected"]


def test_far_below_a_comparison_in_the_log():
    lines = [*printed(noisy(3) * 10), "# one node: step 100 loss 2.1 tok/s 50000"]
    (found,) = judge(case(lines))
    assert found.signature == "throughput-below-comparison"
    assert found.lines[-1].text.startswith("#")
    assert seen(judge(case([*printed(noisy(3)), "# before: step 100 loss 2.1 tok/s 52000"]))) == []


def test_a_slow_end_before_a_crash_is_a_part_of_the_crash():
    durations = noisy(100)
    durations[92:] *= 2
    lines = printed(durations)
    assert seen(judge(case(lines))) == ["throughput-step"]
    assert seen(judge(case([*lines, "RuntimeError: CUDA error: an illegal memory access"]))) == []


def test_checkpoints_evaluations_warm_up_and_restarts_are_healthy():
    durations = noisy(400)
    durations[:2] *= 20
    durations[49::50] *= 3
    lines = [*printed(durations), *printed(durations, first=300)]
    assert seen(judge(case(lines))) == []


@pytest.mark.parametrize("seed", range(40))
def test_healthy_jobs_give_nothing(seed):
    rng = np.random.default_rng(seed)
    durations = noisy(int(rng.integers(3, 600)), seed, float(rng.choice([0.002, 0.02, 0.05])))
    durations[rng.random(len(durations)) < 0.01] *= 8
    assert seen(judge(case(printed(durations)))) == []


def of_ranks(paces):
    lines = [
        Line("out", 100 * rank + n, f"step {n} step_time: {pace * value:.3f}", Identity(rank=rank))
        for rank, pace in enumerate(paces)
        for n, value in enumerate(noisy(20, rank, 0.005), start=1)
    ]
    return Case((Source("out"),), tuple(lines), series_of(lines))


def test_one_rank_apart_from_its_peers_is_named():
    (found,) = judge(of_ranks([1, 1, 1.01, 1.4, 1, 0.99]))
    assert found.signature == "throughput-slow-rank"
    assert found.culprit.rank == 3


@pytest.mark.parametrize("paces", [[1, 1, 1, 1, 1.02], [1, 1.3], [1, 1.2, 1.4, 1.1, 1.5, 1.6]])
def test_ranks_that_agree_or_all_differ_are_not_named(paces):
    assert seen(judge(of_ranks(paces))) == []


def test_the_same_drop_on_every_rank_is_one_finding():
    slow = np.where(np.arange(60) < 30, 1, 1.5)
    lines = [
        Line(f"rank{rank}.log", n + 1, text, Identity(rank=rank))
        for rank in range(4)
        for n, text in enumerate(printed(noisy(60) * slow))
    ]
    (found,) = judge(Case(tuple(Source(f"rank{n}.log") for n in range(4)), tuple(lines), series_of(lines)))
    assert (found.signature, found.count) == ("throughput-step", 4)
    assert not found.culprit


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.floats(-1, 1e6), st.integers(0, 5)), max_size=90))
def test_any_series_are_taken(rows):
    lines = [
        Line("out", number, f"step {step} tok/s {pace:.2f}", Identity(rank=rank))
        for number, (step, pace, rank) in enumerate(rows, start=1)
    ]
    found = judge(
        Case((Source("out"),), tuple(lines), series_of(lines), expected=(1, 2, "tokens-per-second"))
    )
    for sighting in found:
        assert 0 < len(sighting.lines) <= 8
