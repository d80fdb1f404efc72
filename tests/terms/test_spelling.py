from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.terms import spelling


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "?"),
        (0.0, "0 µs"),
        (2e-5, "20 µs"),
        (0.01234, "12.3 ms"),
        (1.239, "1.24 s"),
        (185, "3 min 5 s"),
        (7440, "2 h 4 min"),
        (float("nan"), "?"),
        (float("inf"), "?"),
    ],
)
def test_duration(seconds: float | None, shown: str) -> None:
    assert spelling.duration(seconds) == shown


@given(st.text())
def test_clean_text_steers_nothing(text: str) -> None:
    cleaned = spelling.line(text)
    assert all(ord(c) >= 0x20 and not 0x7F <= ord(c) < 0xA0 for c in cleaned)
    assert not set(cleaned) & set("\u202e\u2066\u200f\u2028\ufeff")
    cleaned.encode()


def test_an_escape_sequence_stays_visible_and_long_text_is_cut() -> None:
    assert spelling.line("\x1b[31mred\nnext") == "␛[31mred next"
    assert len(spelling.line("x" * 5000)) == 2001


def test_ranges_and_percent() -> None:
    assert spelling.ranges([3, 1, 2, 7, 9, 8]) == "1-3, 7-9"
    assert spelling.ranges([]) == ""
    assert (spelling.percent(0.25), spelling.percent(2.0), spelling.percent(None)) == ("25%", "100%", "?")
