from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from evenpace.report.story import Story, tell
from evenpace.report.text import print_report
from evenpace.watch import events as ev


def printed(story: Story, lang: str, width: int) -> str:
    page = io.StringIO()
    print_report(story, Console(file=page, width=width, highlight=False), lang)
    return page.getvalue()


@pytest.mark.parametrize(("lang", "width"), [("en", 60), ("en", 100), ("ko", 60)])
def test_golden(demo: list[ev.Event], golden: Callable[[str, str], None], lang: str, width: int) -> None:
    golden(f"demo-{lang}-{width}.txt", printed(tell(demo), lang, width))


@pytest.mark.parametrize(("lang", "width"), [("en", 60), ("en", 100), ("ko", 60), ("ko", 100)])
def test_golden_of_a_slow_run(
    slow: list[ev.Event], golden: Callable[[str, str], None], lang: str, width: int
) -> None:
    golden(f"slow-{lang}-{width}.txt", printed(tell(slow), lang, width))


def test_no_colour_where_there_is_no_terminal(demo: list[ev.Event]) -> None:
    assert "\x1b" not in printed(tell(demo), "en", 80)


def test_an_empty_story_can_be_printed() -> None:
    assert "No fault found" in printed(Story(), "en", 60)


def test_only_the_busiest_of_many_workers_are_listed(big: list[ev.Event]) -> None:
    page = printed(tell(big[:150]), "en", 100)
    assert "the 16 busiest of 64" in page


def test_hostile_text_does_not_steer_the_terminal() -> None:
    text = "\x1b[2J[bold]x[/bold]\x07\u202e\n"
    started = ev.RunStarted(time=ev.stamp(9), run=text, version=text, host=text, command=[text], policy=text)
    degraded = ev.WatchDegraded(time=ev.stamp(9), text=text)
    page = printed(tell([started, degraded]), "en", 80)
    assert not set(page) & set("\x1b\x07\u202e")
    assert "[bold]x[/bold]" in page
