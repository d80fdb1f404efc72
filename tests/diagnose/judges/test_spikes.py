"""Steps that are slow now and then: uneven ones are told, saves and noise are not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.judges import spikes
from evenpace.diagnose.model import Case, Line, Series, Sighting


def judged(values: Sequence[float]) -> list[Sighting]:
    lines = tuple(Line("a.log", number, f"step {number}") for number in range(len(values)))
    series = Series("a.log", "iteration-seconds", "s", tuple(range(len(values))), tuple(values), lines)
    return list(spikes.judge(Case((), lines, (series,) if values else ())))


def steps(slow: Sequence[int], count: int = 24, long: float = 3.0) -> list[float]:
    return [long if at in slow else 1.0 + 0.01 * (at % 3) for at in range(count)]


def test_uneven_slow_steps() -> None:
    (one,) = judged(steps([3, 9, 10, 17]))
    assert one.signature == "throughput-spikes"
    assert not one.culprit
    assert one.lines[0].text == "step 3"


@pytest.mark.parametrize(
    "values",
    [
        steps([5, 11, 17, 23]),  # evenly: saves or evaluations
        steps([3, 9]),  # too few
        steps([3, 9, 10, 17], long=1.3),  # hardly slower
        steps([50, 120, 130], count=400, long=3.0),  # hardly a loss
        [1.0, 1.3, 0.8, 2.0, 1.1, 0.7, 1.9, 2.1, 1.2, 0.9],  # all of it is uneven
        [],
    ],
)
def test_what_is_usual(values: list[float]) -> None:
    assert not judged(values)


@given(st.lists(st.floats(0.001, 1e6), max_size=40))
def test_any_times(values: list[float]) -> None:
    assert len(judged(values)) < 2
