from __future__ import annotations

import io

import pytest
from rich.console import Console

from evenpace.report.liveview import live_view
from evenpace.report.story import Story, tell
from evenpace.watch import events as ev


def seen(events: list[ev.Event], width: int, height: int = 24, lang: str = "en", after: float = 0.0) -> str:
    story = tell(events)
    page = io.StringIO()
    console = Console(file=page, width=width, height=height, highlight=False)
    console.print(live_view(story, lang, (width, height), (story.latest or 0.0) + after))
    return page.getvalue()


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("width", [60, 200])
def test_a_slow_worker_is_seen_at_any_width(demo: list[ev.Event], width: int, lang: str) -> None:
    page = seen(demo[:150], width, lang=lang)
    assert "1.63" in page
    assert "361 ms" in page
    assert len(page.splitlines()) <= 24
    assert page.count("·  4") == 3  # the three that wait for rank 1, about 40 % each
    assert page.count("·   0%") == 1


def test_many_workers_fit_the_screen_and_the_one_waited_for_is_among_them(big: list[ev.Event]) -> None:
    page = seen(big[:900], 100)
    assert len(page.splitlines()) <= 24
    assert "  37 gpu-004" in page


def test_silence_is_said(demo: list[ev.Event]) -> None:
    assert "last one 1 min 0 s ago" in seen(demo[:150], 80, after=60)
    assert "ago" not in seen(demo[:150], 80, after=1)
    assert "ago" not in seen(demo, 80, after=1000)  # the run has ended


def test_a_run_before_its_first_iteration() -> None:
    assert "No iteration seen yet" in seen([], 60)
    assert live_view(Story(), "ko", (60, 24), 0.0)


@pytest.mark.parametrize(("width", "height"), [(60, 30), (120, 30)])
def test_what_was_done_and_what_it_brings_so_far(slow: list[ev.Event], width: int, height: int) -> None:
    page = " ".join(seen(slow[:125], width, height).split())
    assert "In force micro-batches since step 75, lost 2.65 s instead of" in page
    assert "· slow m micro-batches" in page
    assert "Decision 04:13:43 chose micro-batches: it would by now have saved" in page
    assert "Narrowed to rank 1 on gpu-00" in page
    assert len(seen(slow[:125], width, height).splitlines()) <= height


def test_more_findings_than_fit_are_counted(demo: list[ev.Event]) -> None:
    raised = next(e for e in demo if isinstance(e, ev.FindingRaised))
    more = [ev.FindingRaised(time=raised.time, incarnation=0, id=i, finding=raised.finding) for i in range(9)]
    assert "5 more" in seen([*demo[:100], *more], 100)
