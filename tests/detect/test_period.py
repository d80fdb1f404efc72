"""The iteration in the call sequences of DDP, FSDP and pipelines, and None where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.period import Period, find_period
from evenpace.detect.repetition import suffix_runs

NAMES: dict[str, int] = {}


def code(names: list[str]) -> np.ndarray:
    """Code names as symbols; send and recv ("s...", "r...") are negative."""
    return np.array(
        [(-1 if n[0] in "sr" else 1) * (NAMES.setdefault(n, len(NAMES)) + 1) for n in names], np.int64
    )


def ddp(buckets: int) -> list[str]:
    return [f"A{i}" for i in range(buckets)]


def fsdp(layers: int) -> list[str]:
    backward = [op for i in range(layers) for op in (["AG", "RS"] if i < layers - 1 else ["RS"])]
    return ["AGroot", *["AG"] * layers, "X", *backward, "RSroot"]


def one_f_one_b(stages: int, stage: int, micro: int, tail: list[str]) -> list[str]:
    warm = min(micro, stages - stage - 1)
    forward = ([] if stage == 0 else ["rF"]) + ([] if stage == stages - 1 else ["sF"])
    backward = ([] if stage == stages - 1 else ["rB"]) + ([] if stage == 0 else ["sB"])
    return forward * warm + (forward + backward) * (micro - warm) + backward * warm + tail


def with_extras(iteration: list[str], repeats: int, every: dict[int, list[str]]) -> list[str]:
    names: list[str] = []
    for i in range(1, repeats + 1):
        names += iteration
        for period, extra in every.items():
            names += extra if i % period == 0 else []
    return names


def noisy(names: list[str], rate: float, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [x for n in names for x in ([n, f"N{rng.integers(5)}"] if rng.random() < rate else [n])]


def is_rotation(period: Period, names: list[str]) -> bool:
    doubled = code(names * 2).tolist()
    return any(doubled[i : i + len(names)] == period.pattern.tolist() for i in range(len(names)))


def sampled_marks(operations: int, step: int, every: int, begin: int = 0) -> np.ndarray:
    """Rows as a poll would read them, every so many operations, of steps that end at begin + i * step."""
    counts = np.arange(0, operations, every)
    return np.column_stack([counts, np.maximum(0, (counts - begin) // step)])


WARM_UP = ["B0", "B1", "B0", "B2"]


@pytest.mark.parametrize("buckets", [1, 2, 5, 40])
def test_ddp_after_another_first_iteration(buckets: int) -> None:
    found = find_period(code(WARM_UP + [f"F{i}" for i in range(7)] + ddp(buckets) * 200))
    assert found is not None
    assert (found.length, found.start, found.super_period) == (buckets, 11, 1)
    assert is_rotation(found, ddp(buckets))
    assert found.repeats == 200


@pytest.mark.parametrize("layers", [4, 12, 24, 48, 80, 126])
def test_fsdp_at_any_moment_of_an_iteration(layers: int) -> None:
    names = WARM_UP + fsdp(layers) * 12
    for cut in range(1, 2 * layers, max(1, layers // 7)):
        found = find_period(code(names)[:-cut])
        assert found is not None
        assert found.length == len(fsdp(layers))
        assert is_rotation(found, fsdp(layers))


@pytest.mark.parametrize("micro", [1, 4, 8, 32, 64, 128])
@pytest.mark.parametrize("stage", [0, 3, 6, 7])
def test_pipeline_with_data_parallel(stage: int, micro: int) -> None:
    iteration = one_f_one_b(8, stage, micro, ["Agrad"])
    found = find_period(code(iteration * 12))
    assert found is not None
    assert (found.length, found.super_period) == (len(iteration), 1)


@pytest.mark.parametrize("stage", [0, 1])
def test_pipeline_without_collectives_needs_steps(stage: int) -> None:
    iteration = one_f_one_b(2, stage, 4, [])
    names = iteration * 40
    marks = sampled_marks(len(names), len(iteration), 11)
    found = find_period(code(names), marks=marks)
    assert found is not None
    assert found.length == 8
    assert find_period(code(names)) is None


def test_loss_every_five_and_evaluation_every_ten() -> None:
    for every, block in (({5: ["L"]}, 5), ({10: ["E", "BAR"]}, 10), ({5: ["L"], 10: ["BAR"]}, 10)):
        found = find_period(code(WARM_UP + with_extras(ddp(5), 60, every)))
        assert found is not None
        assert (found.length, found.super_period, found.start) == (5, block, 4)


def test_steps_split_a_block_whose_extras_are_many() -> None:
    names = with_extras(["A"], 60, {5: ["L"]})
    counted = [i + 1 for i, n in enumerate(names) if n == "A"]
    marks = np.column_stack([counted, np.arange(1, 61)])
    found = find_period(code(names), marks=marks)
    assert found is not None
    assert (found.length, found.super_period) == (1, 5)


def test_evaluation_with_operations_of_the_iteration() -> None:
    forward = fsdp(4)[:6]
    names = with_extras(fsdp(4), 50, {10: forward * 5})[: -len(forward) * 5] + fsdp(4) * 6
    counted, at = [], 0
    for i in range(56):
        at += 14
        counted.append((at, i + 1))
        at += 30 if (i + 1) % 10 == 0 and i < 49 else 0
    found = find_period(code(names), marks=np.array(counted))
    assert found is not None
    assert found.length == 14


def test_gradient_accumulation() -> None:
    micro = ["A0", "A1", "A2"]
    names = WARM_UP + micro * 4 * 30
    without = find_period(code(names))
    assert without is not None
    assert without.length == 3
    for marks in (sampled_marks(len(names), 12, 1, 4), sampled_marks(len(names), 12, 7, 4)):
        found = find_period(code(names), marks=marks)
        assert found is not None
        assert (found.length, (found.start - 4) % 12) == (12, 0)


@pytest.mark.parametrize("micro", [1, 4])
@pytest.mark.parametrize("every", [1, 3, 7])
def test_steps_left_out_at_first(micro: int, every: int) -> None:
    names = ["A0", "A1", "A2"] * micro * 60
    marks = sampled_marks(len(names), 3 * micro, every)
    marks[:, 1] = np.maximum(0, marks[:, 1] - 3)
    found = find_period(code(names), marks=marks)
    assert found is not None
    assert found.length == 3 * micro


def test_accumulation_that_changes() -> None:
    names = ["A0", "A1", "A2"] * 4 * 40
    marks = sampled_marks(len(names), 12, 7)
    later = marks[:, 0] > 240
    marks[later, 1] = 20 + (marks[later, 0] - 240) // 6
    found = find_period(code(names), marks=marks)
    assert found is not None
    assert found.length == 6


def test_steps_not_enough_to_count_micro_batches() -> None:
    names = ["A0", "A1"] * 4 * 4
    assert find_period(code(names), marks=sampled_marks(len(names), 8, 3)) is None


def test_steps_are_known_but_none_was_taken_yet() -> None:
    names = ["AG"] * 1000
    assert find_period(code(names), marks=np.array([[0, 0], [1000, 0]])) is None


def test_two_optimizers_an_iteration() -> None:
    names = (["G0", "G1", "D0", "D1", "D2"]) * 30
    counts = np.array([i + 1 for i in range(len(names)) if i % 5 in (1, 4)])
    found = find_period(code(names), marks=np.column_stack([counts, np.arange(1, len(counts) + 1)]))
    assert found is not None
    assert found.length == 5


def test_equal_buckets_are_told_by_bursts() -> None:
    rng = np.random.default_rng(1)
    gaps = np.tile([50, 2, 2, 2, 3], 60) * 1_000_000 * rng.uniform(0.8, 1.25, 300)
    gaps[100] *= 40  # an evaluation without operations
    enter = np.cumsum(gaps).astype(np.int64)
    found = find_period(code(["A"] * 300), enter)
    assert found is not None
    assert (found.length, found.start % 5) == (5, 0)
    marks = sampled_marks(300, 5, 3)
    by_steps = find_period(code(["A"] * 300), enter, marks)
    assert by_steps is not None
    assert (by_steps.length, by_steps.start % 5) == (5, 0)


def test_begins_after_the_longest_typical_gap() -> None:
    gaps = np.tile([3, 40, 2, 2, 3], 20) * 1_000_000
    gaps[52] = 10**10
    found = find_period(code(ddp(5) * 20), np.cumsum(gaps))
    assert found is not None
    assert found.pattern.tolist() == code(["A1", "A2", "A3", "A4", "A0"]).tolist()


def test_changed_period_is_found_from_the_end() -> None:
    names = fsdp(12) * 40 + ddp(7) * 100
    found = find_period(code(names))
    assert found is not None
    assert (found.length, found.start) == (7, len(fsdp(12)) * 40)
    for begun in (1.5, 2.5):
        assert find_period(code(ddp(3) * 50 + fsdp(126)[: int(127 * begun)])) is None


@pytest.mark.parametrize(
    "iteration", [ddp(5), fsdp(24), one_f_one_b(8, 3, 32, ["Agrad"]), one_f_one_b(8, 7, 32, ["Agrad"])]
)
def test_random_extra_operations(iteration: list[str]) -> None:
    for seed in range(5):
        names = noisy(iteration * max(60, 4000 // len(iteration)), 0.002, seed)
        found = find_period(code(names))
        assert found is not None
        assert found.length == len(iteration)
        assert is_rotation(found, iteration)


def test_two_thousand_operations_a_period() -> None:
    rng = np.random.default_rng(2)
    iteration = rng.integers(1, 40, 2000)
    symbols = np.tile(iteration, 9)[:16_384]
    found = find_period(symbols)
    assert found is not None
    assert (found.length, found.repeats) == (2000, 8)


def test_none_for_random_sequences() -> None:
    rng = np.random.default_rng(3)
    for alphabet in (2, 3, 10, 1000):
        for size in (10, 100, 1000, 5000):
            assert find_period(rng.integers(1, alphabet + 1, size)) is None


@pytest.mark.parametrize("iteration", [ddp(5), fsdp(24), one_f_one_b(8, 0, 16, ["Agrad"])])
def test_none_for_fewer_than_three_repeats(iteration: list[str]) -> None:
    for size in range(3 * len(iteration) - 1):
        assert find_period(code(iteration * 3)[:size]) is None


def test_empty() -> None:
    assert find_period(np.array([], np.int64)) is None


@given(st.lists(st.integers(1, 3), max_size=60))
def test_suffix_runs(values: list[int]) -> None:
    runs = suffix_runs(np.array(values, np.int64))
    for lag in range(1, len(values)):
        run = 0
        while run < len(values) - lag and values[-1 - run] == values[-1 - run - lag]:
            run += 1
        assert runs[lag] == run


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=30).filter(lambda x: len(set(x)) > 1),
    st.integers(6, 20),
    st.lists(st.integers(50, 90), max_size=10),
    st.data(),
)
def test_what_is_found_repeats_exactly(
    pattern: list[int], repeats: int, warm_up: list[int], data: st.DataObject
) -> None:
    symbols = np.array(warm_up + pattern * repeats, np.int64)[: -data.draw(st.integers(1, len(pattern)))]
    found = find_period(symbols)
    if found is not None:
        kept = symbols[np.isin(symbols, found.pattern)][-found.repeats * found.length :]
        assert found.repeats >= 3
        assert (kept[found.length :] == kept[: -found.length]).all()
        block = found.super_period * found.length
        assert block <= len(pattern)
        assert len(pattern) % block == 0 or len(pattern) - block <= len(pattern) / 3
