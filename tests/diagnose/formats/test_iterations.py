from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.diagnose.formats.iterations import POINTS, comparisons, runs, series_of, thinned
from evenpace.diagnose.model import Identity, Line


def lines_of(*texts, source="train.log", printer=None):
    return [Line(source, number, text, printer or Identity()) for number, text in enumerate(texts, start=1)]


def named(series, name):
    return [one for one in series if one.name == name]


def test_one_series_a_column():
    lines = lines_of("step 1 loss 2.5 tok/s 1000", "something else", "step 2 loss 2.4 tok/s 990")
    found = series_of(lines)
    assert {one.name for one in found} == {"loss", "tokens-per-second"}
    loss = named(found, "loss")[0]
    assert loss.steps == (1, 2)
    assert loss.values == (2.5, 2.4)
    assert [line.number for line in loss.lines] == [1, 3]


def test_files_and_printers_have_their_own():
    both = lines_of("step 1 loss 2.5", "step 2 loss 2.4", printer=Identity(rank=0))
    both += lines_of("step 1 loss 2.5", "step 2 loss 2.4", printer=Identity(rank=1))
    both += lines_of("step 1 loss 2.5", "step 2 loss 2.4", source="other.log")
    assert len(series_of(both)) == 3


def test_a_single_point_is_no_series():
    assert series_of(lines_of("step 1 loss 2.5")) == ()


def test_bars_of_other_lengths_are_other_counters():
    train = [f" 1%| | {n}/800 [00:1{n}<10:00,  2.00s/it]" for n in range(3)]
    evaluate = [f" 1%| | {n}/50 [00:1{n}<10:00,  0.20s/it]" for n in range(3)]
    found = named(series_of(lines_of(*train, *evaluate)), "iteration-seconds")
    assert sorted({one.values[0] for one in found}) == [0.2, 2.0]


def test_lines_without_a_step_are_counted():
    found = series_of(lines_of(*["{'loss': 1.5, 'grad_norm': 0.2, 'epoch': 0.1}"] * 4))
    assert found[0].steps == (0, 1, 2, 3)


def test_a_step_that_goes_back_begins_a_run():
    series = series_of(lines_of(*[f"step {step} loss 2.0" for step in (5, 6, 7, 6, 7, 8, 1)]))[0]
    assert [list(run) for run in runs(series)] == [[0, 1, 2], [3, 4, 5], [6]]


def test_what_is_commented_out_is_a_comparison_and_no_series():
    lines = lines_of(
        "step 1 loss 2 tok/s 100", "step 2 loss 2 tok/s 100", "# one node: step 2 loss 2 tok/s 900"
    )
    assert next((name, value) for name, value, _ in comparisons(lines)) == ("tokens-per-second", 900.0)
    assert all(900.0 not in one.values for one in series_of(lines))


def test_a_long_series_keeps_its_extremes():
    texts = [f"step {step} loss 2.0" for step in range(POINTS + 5000)]
    texts[333], texts[12_345], texts[20_001] = (
        "step 333 loss nan",
        "step 12345 loss 9.5",
        "step 20001 loss 0.1",
    )
    loss = series_of(lines_of(*texts))[0]
    assert len(loss.values) <= POINTS
    assert {333, 12_345, 20_001} <= set(loss.steps)
    assert max(np.diff(loss.steps)) <= 3
    assert sum(map(math.isnan, loss.values)) == 1


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=300), st.integers(40, 100))
def test_thinning_is_bounded_and_ordered(values, points):
    kept = thinned(np.array(values, dtype=float), points)
    assert len(kept) <= max(points, min(len(values), points))
    assert list(kept) == sorted(set(kept.tolist()))


@settings(deadline=None)
@given(st.lists(st.text(max_size=120), max_size=30))
def test_no_text_breaks_it(texts):
    for one in series_of(lines_of(*texts)):
        assert len(one.steps) == len(one.values) == len(one.lines)
