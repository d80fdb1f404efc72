from __future__ import annotations

import pytest

from evenpace.diagnose.formats.iterations import series_of
from evenpace.diagnose.judges.data_time import judge
from evenpace.diagnose.model import Case, Line, Source


def seen(pairs):
    lines = [
        Line(
            "a.log",
            n + 1,
            f"Epoch: [0][ {n * 10}/900]  Time {whole:.3f} ({whole:.3f})  Data {data:.3f} (0.1)",
        )
        for n, (data, whole) in enumerate(pairs)
    ]
    return list(judge(Case((Source("a.log"),), tuple(lines), series_of(lines))))


def test_steps_that_wait_for_data():
    (found,) = seen([(0.8, 1.0)] * 20)
    assert found.signature == "data-time-bound"
    assert not found.culprit
    assert found.captures["percent"] == "80"
    assert len(found.lines) <= 8


@pytest.mark.parametrize(
    "pairs",
    [
        [(0.01, 1.0)] * 20,
        [(9.0, 10.0), *[(0.01, 1.0)] * 20],  # the first batch starts the loader
        [(0.4, 1.0)] * 20,
        [(0.6, 1.0), (0.7, 1.0)],  # two lines of which none is clear
        [(0.95, 1.0)],
        [(3.0, 1.0)] * 20,  # counted otherwise
        [(0.9, 1.0)] * 3 + [(0.01, 1.0)] * 30,
    ],
)
def test_others_do_not(pairs):
    assert seen(pairs) == []


def test_two_lines_suffice_where_nearly_all_is_data_time():
    assert len(seen([(9.5, 10.0), (8.9, 9.5)])) == 1
