"""Counts of own work: rising, of one rank, not at their end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats.counters import counters
from evenpace.diagnose.lines import read_lines


def counted(text: str) -> list[tuple[int | None, int, int]]:
    return [(one.rank, one.done, one.total) for one in counters(read_lines("a.log", text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rank 2: evaluating sample 7/90\nRank 2: evaluating sample 8/90", (2, 8, 90)),
        ("[rank3]: encoding file 10 of 400\n[rank3]: encoding file 12 of 400", (3, 12, 400)),
        ("Downloading part (3/12)\nDownloading part (4/12)", (None, 4, 12)),
    ],
)
def test_a_count_that_goes_on(text: str, expected: tuple[int | None, int, int]) -> None:
    assert counted(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "evaluating 89/90\nevaluating 90/90",  # its end
        "evaluating 8/90",  # it does not move
        "[rank0]: evaluating 7/90\n[rank1]: evaluating 8/90",  # all do it
        "training: processing batch 7/90 loss 2.1\ntraining: processing batch 8/90 loss 2.1",
    ],
)
def test_no_own_work_that_goes_on(text: str) -> None:
    assert counted(text) == []


@given(st.text(max_size=400))
def test_any_text(text: str) -> None:
    counted(f"Rank 0 processing {text} 1/2\nprocessing {text}")
