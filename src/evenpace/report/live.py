"""Follow a run: redraw its live view in a terminal, or print a line an event where there is none."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from evenpace.report.lines import event_line
from evenpace.report.liveview import live_view
from evenpace.report.story import Story
from evenpace.report.verdict import verdict
from evenpace.watch.eventlog import EventTail

INTERVAL = 0.25  # seconds between looks at the log


def follow(
    log: Path,
    console: Console,
    lang: str,
    wait: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.time,
) -> None:
    """Show a run until it ends or the user presses Ctrl-C.

    `wait` sleeps between two looks at the log; `clock` tells the time in seconds since the epoch.
    """
    tail, story = EventTail(log), Story()
    try:
        if console.is_terminal:
            _draw(tail, story, console, lang, wait, clock)
        else:
            _print(tail, story, console, lang, wait)
    except KeyboardInterrupt:
        pass
    if console.is_terminal and story.events:
        console.print(Text(verdict(story, lang), style="bold"))


def _draw(  # noqa: PLR0913, PLR0917 - what it reads, draws on and waits by
    tail: EventTail,
    story: Story,
    console: Console,
    lang: str,
    wait: Callable[[float], None],
    clock: Callable[[], float],
) -> None:
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            for event in tail.read():
                story.add(event)
            live.update(live_view(story, lang, console.size, clock()), refresh=True)
            if story.end:
                return
            wait(INTERVAL)


def _print(tail: EventTail, story: Story, console: Console, lang: str, wait: Callable[[float], None]) -> None:
    while True:
        for event in tail.read():
            story.add(event)
            console.print(Text(event_line(event, story, lang)), soft_wrap=True)
        console.file.flush()
        if story.end:
            return
        wait(INTERVAL)
