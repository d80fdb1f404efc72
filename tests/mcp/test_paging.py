from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.errors import Problem
from evenpace.mcp.paging import KEPT, PAGE, Pages, Whole, fitting, offset
from evenpace.mcp.quoting import LONG, cut


@given(st.lists(st.integers(1, PAGE * 2), max_size=60))
def test_pages_hold_each_entry_once_and_end(sizes: list[int]) -> None:
    place, seen = 0, []
    while place < len(sizes):
        end = fitting(sizes, place)
        assert end > place
        assert end == place + 1 or sum(sizes[place:end]) <= PAGE
        seen += range(place, end)
        place = end
    assert seen == list(range(len(sizes)))


def whole(number: int) -> Whole[tuple[int, int, int, str | None]]:
    return Whole([PAGE] * 3, lambda start, end, cursor: (number, start, end, cursor))


def test_the_next_page_is_of_the_same_answer_while_it_is_kept() -> None:
    pages = Pages[tuple[int, int, int, str | None]]()
    *_, cursor = pages.first(whole(0))
    assert cursor is not None
    pages.first(whole(1))
    number, start, end, further = pages.next(cursor)
    assert (number, start, end) == (0, 1, 2)
    assert further is not None
    assert pages.next(further)[3] is None
    for number in range(KEPT):
        pages.first(whole(number))
    with pytest.raises(Problem, match="no longer kept"):
        pages.next(cursor)


@pytest.mark.parametrize("cursor", ["", ".", "x.1", "x.-1", "x.²", "." * 64])
def test_a_cursor_of_nobody_is_refused(cursor: str) -> None:
    with pytest.raises(Problem):
        Pages[int]().next(cursor)


@pytest.mark.parametrize("cursor", ["-1", "²", "7", "1e3"])
def test_a_page_beyond_the_list_is_refused(cursor: str) -> None:
    with pytest.raises(Problem):
        offset(cursor, 7)


@given(st.text(max_size=3000))
def test_quoted_text_is_short_and_on_one_line(text: str) -> None:
    told = cut(text)
    assert len(told.encode()) <= LONG + 3
    assert told.splitlines() in ([], [told])
