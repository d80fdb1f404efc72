from __future__ import annotations

import pytest

from evenpace.report import pacemetrics
from evenpace.report.loss import lost
from evenpace.report.pacemetrics import PaceBook
from evenpace.report.story import tell
from evenpace.watch import events as ev


def told(events: list[ev.Event]) -> PaceBook:
    book = PaceBook()
    for event in events:
        book.add(event)
    return book


def test_the_sums_are_those_of_the_report(slow: list[ev.Event]) -> None:
    book, cost = told(slow), lost(tell(slow))
    assert cost.slow is not None
    assert cost.paused is not None
    assert cost.recovered is not None
    assert book.lost == pytest.approx(cost.slow + cost.paused, rel=0.01)
    # The report sees by rank 1's own time that it was well 8 iterations before the strategy was taken back.
    assert book.recovered == pytest.approx(cost.recovered + 8 * 0.12, rel=0.1)


def test_within_a_spell_the_sums_go_on(slow: list[ev.Event]) -> None:
    assert 0 < told(slow[:110]).lost < told(slow[:140]).lost


def test_memory_is_bounded_and_what_was_lost_stays(
    slow: list[ev.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = told(slow[:145])
    monkeypatch.setattr(pacemetrics, "_MOST", 30)
    monkeypatch.setattr(pacemetrics, "_KEPT", 20)
    small = told(slow[:145])
    assert small.lost == pytest.approx(whole.lost, rel=0.02)
    assert len(small._held) <= 31 + 70


def test_another_incarnation_begins_anew(demo: list[ev.Event]) -> None:
    book, cost = told(demo), lost(tell(demo))
    assert book.lost == pytest.approx(cost.slow, rel=0.01)
    assert book.recovered == 0
