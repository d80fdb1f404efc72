"""The stream of a worker cut into iterations: from its beginning, with extras, and after a change."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.iterations import IterationSpan, IterationTracker
from evenpace.detect.period import WINDOW


def enters(symbols: list[int]) -> np.ndarray:
    return np.arange(1, len(symbols) + 1, dtype=np.int64) * 1000


def track(symbols: list[int], cuts: list[int] | None = None) -> tuple[IterationTracker, list[IterationSpan]]:
    """Feed the symbols, cut into batches at the given places."""
    tracker = IterationTracker()
    spans: list[IterationSpan] = []
    at, enter = np.array(symbols, np.int64), enters(symbols)
    for begin, end in zip([0, *(cuts or [])], [*(cuts or []), len(symbols)], strict=True):
        spans += tracker.feed(at[begin:end], enter[begin:end])
    return tracker, spans


def track_with_steps(
    symbols: list[int], steps: list[int], every: int
) -> tuple[IterationTracker, list[IterationSpan]]:
    """Feed so many operations at a time, with the optimizer steps taken before the next operation."""
    tracker = IterationTracker()
    spans: list[IterationSpan] = []
    at, enter = np.array(symbols, np.int64), enters(symbols)
    for begin in range(0, len(symbols), every):
        end = min(begin + every, len(symbols))
        spans += tracker.feed(at[begin:end], enter[begin:end], steps[end - 1])
    return tracker, spans


def assert_no_gaps(symbols: list[int], spans: list[IterationSpan]) -> None:
    enter = enters(symbols)
    for one, other in pairwise(spans):
        assert other.first == one.last + 1
        assert other.start_ns == one.end_ns
    for span in spans:
        assert (span.start_ns, span.end_ns) == (enter[span.first], enter[span.last + 1])


def test_counts_from_the_beginning_however_late_it_is_recognised() -> None:
    symbols = [90, 91, 92] + [1, 2, 3, 4, 5] * 100
    tracker, spans = track(symbols)
    assert tracker.period is not None
    assert tracker.period.length == 5
    assert [(s.first, s.last, s.extra) for s in spans] == [(3 + 5 * i, 7 + 5 * i, 0) for i in range(99)]
    assert_no_gaps(symbols, spans)


def test_an_iteration_is_reported_when_the_next_begins() -> None:
    tracker, spans = track([1, 2, 3] * 50)
    assert len(spans) == 49
    assert tracker.feed(np.array([1]), np.array([10**9]))[0].end_ns == 10**9
    assert tracker.feed(np.array([2, 3]), np.array([1, 2]) + 10**9) == []


def test_loss_and_evaluation_between_iterations() -> None:
    symbols: list[int] = [90] * 4
    for i in range(200):
        symbols += [1, 2, 3, 4, 5] + ([7] if i % 5 == 4 else []) + ([8, 8, 9] * 10 if i % 20 == 19 else [])
    tracker, spans = track(symbols)
    assert tracker.period is not None
    assert (tracker.period.length, tracker.period_changes) == (5, 0)
    assert len(spans) == 199
    assert [i for i, s in enumerate(spans) if s.extra] == [i for i in range(199) if i % 5 == 4]
    assert_no_gaps(symbols, spans)


def test_evaluation_with_the_operations_of_the_iteration() -> None:
    iteration = [1, *[2] * 12, 3, *[2, 4] * 11, 4, 5]
    evaluation = iteration[:14] * 15
    symbols = iteration * 40 + evaluation + iteration * 40
    tracker, spans = track(symbols)
    assert tracker.period_changes == 0
    assert len(spans) == 79
    assert [i for i, s in enumerate(spans) if s.extra] == [40]
    assert spans[40].extra == len(evaluation)


def test_learns_another_pattern() -> None:
    symbols = [1, 2, 3, 4, 5] * 80 + [6, 7, 8] * 900
    tracker, spans = track(symbols)
    assert tracker.period is not None
    assert (tracker.period.length, tracker.period_changes) == (3, 1)
    assert [s.first for s in spans if s.extra] == [395]
    assert [s.last - s.first for s in spans if not s.extra].count(2) >= 897
    assert_no_gaps(symbols, spans)


def test_learns_a_pattern_that_contains_the_old_one() -> None:
    symbols = [1, 2, 3] * 80 + [1, 6, 2, 6, 3] * 900
    tracker, spans = track(symbols)
    assert tracker.period is not None
    assert (tracker.period.length, tracker.period_changes) == (5, 1)
    assert spans[-1].extra == 0
    assert_no_gaps(symbols, spans)


def test_steps_make_it_quick_to_learn_and_to_change() -> None:
    symbols = [1, 2, 3, 4, 5] * 6
    tracker, spans = track_with_steps(symbols, [i // 5 for i in range(30)], 2)
    assert tracker.period is not None
    assert len(spans) == 5
    symbols = [1, 2, 3, 4, 5] * 30 + [1, 2, 6] * 30
    steps = [min(i // 5, 30) + max(0, i - 150) // 3 for i in range(len(symbols))]
    tracker, spans = track_with_steps(symbols, steps, 4)
    assert tracker.period is not None
    assert (tracker.period.length, tracker.period_changes) == (3, 1)


def test_accumulation_is_counted_by_steps() -> None:
    symbols = [90, 91] + [1, 2, 3] * 4 * 40
    steps = [max(0, i - 2) // 12 for i in range(len(symbols))]
    _, spans = track_with_steps(symbols, steps, 7)
    assert [(s.first - 2) % 12 for s in spans] == [0] * len(spans)
    assert len(spans) >= 37


def test_an_inner_repetition_taken_for_the_iteration_is_corrected() -> None:
    iteration = [1] * 400 + [2, 3] * 300 + [4]
    tracker, spans = track(iteration * 12)
    assert tracker.period is not None
    assert tracker.period.length == len(iteration)
    assert spans[-1].extra == 0
    assert_no_gaps(iteration * 12, spans)


def test_memory_is_bounded() -> None:
    tracker = IterationTracker()
    rng = np.random.default_rng(0)
    for i in range(40):
        symbols = np.tile([1, 2, 3], 2000) if i < 20 else rng.integers(10, 99, 6000)
        tracker.feed(symbols, np.arange(6000) + 6000 * i)
        assert len(tracker._symbols) <= 3 * WINDOW


PATTERNS = st.lists(st.integers(1, 8), min_size=2, max_size=40).filter(lambda x: len(set(x)) > 1)


@st.composite
def streams(draw: st.DrawFn) -> list[int]:
    """Warm-up, then a pattern repeated with other operations in it, perhaps another pattern."""
    symbols = draw(st.lists(st.integers(50, 60), max_size=20))
    for _ in range(draw(st.integers(1, 2))):
        pattern = draw(PATTERNS)
        rate = draw(st.sampled_from([0.0, 0.01, 0.1]))
        rng = np.random.default_rng(draw(st.integers(0, 99)))
        for _ in range(draw(st.integers(3, 60))):
            symbols += pattern
            if rng.random() < rate:
                at = int(rng.integers(len(symbols) - len(pattern), len(symbols) + 1))
                symbols[at:at] = rng.integers(80, 85, rng.integers(1, 40)).tolist()
    return symbols


@settings(max_examples=80, deadline=None)
@given(streams(), st.data())
def test_batches_do_not_matter(symbols: list[int], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(symbols)), max_size=8)))
    tracker, spans = track(symbols)
    one_by_one, same = track(symbols, list(range(1, len(symbols))))
    _, again = track(symbols, cuts)
    assert spans == same == again
    assert tracker.period_changes == one_by_one.period_changes
    assert_no_gaps(symbols, spans)


@settings(max_examples=60, deadline=None)
@given(
    st.permutations(range(1, 13)),
    st.integers(2, 12),
    st.lists(st.integers(50, 60), max_size=20),
    st.lists(st.tuples(st.integers(2, 59), st.integers(1, 12)), max_size=4, unique_by=lambda x: x[0]),
)
def test_every_iteration_is_found_once(
    order: list[int], size: int, warm_up: list[int], extras: list[tuple[int, int]]
) -> None:
    pattern, count = order[:size], dict(extras)
    symbols, total = list(warm_up), max(70, 800 // size)  # searched again after the last extra
    for i in range(total):
        symbols += pattern[:1] + [70] * count.get(i, 0) + pattern[1:]
    tracker, spans = track(symbols)
    assert tracker.period is not None
    assert tracker.period_changes == 0
    assert sorted(tracker.period.pattern.tolist()) == sorted(pattern)
    assert len(spans) in (total - 2, total - 1)  # the first may be cut by the rotation
    assert sum(s.extra for s in spans) == sum(count.values())
