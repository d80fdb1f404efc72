from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from evenpace.report.live import follow
from evenpace.watch import events as ev


class Writer:
    """Stand for the run: write the rest of its log, some events at each wait of the reader."""

    def __init__(self, log: Path, events: list[ev.Event], step: int) -> None:
        self.log, self.events, self.step = log, events, step

    def __call__(self, seconds: float) -> None:
        if not self.events:
            raise KeyboardInterrupt
        with self.log.open("ab") as file:
            file.writelines(ev.encode(event) + b"\n" for event in self.events[: self.step])
        self.events = self.events[self.step :]


def followed(log: Path, wait: Callable[[float], None], lang: str, terminal: bool) -> str:
    page = io.StringIO()
    console = Console(
        file=page, width=80, height=30, force_terminal=terminal, color_system=None, highlight=False
    )
    follow(log, console, lang, wait, clock=lambda: 1_789_000_200.0)
    return page.getvalue()


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_terminal_is_redrawn_until_the_run_ends(demo: list[ev.Event], tmp_path: Path, lang: str) -> None:
    wait = Writer(tmp_path / "events.jsonl", demo, 40)
    page = followed(wait.log, wait, lang, terminal=True)
    assert wait.events == []
    assert "iteration 149" in page
    assert "node4" in page.splitlines()[-1] or "node4" in page.splitlines()[-2]


def test_elsewhere_each_event_is_a_line(demo: list[ev.Event], tmp_path: Path) -> None:
    wait = Writer(tmp_path / "events.jsonl", demo, 100)
    lines = followed(wait.log, wait, "en", terminal=False).splitlines()
    assert len(lines) == len(demo)
    assert lines[0].startswith("2026-09-10T00:26:40.000Z  run-started  20260909-232640-demo torchrun")
    assert lines[-1].endswith("run-ended  finished")


@pytest.mark.parametrize("terminal", [True, False])
def test_ctrl_c_leaves_cleanly(demo: list[ev.Event], tmp_path: Path, terminal: bool) -> None:
    wait = Writer(tmp_path / "events.jsonl", demo[:50], 50)
    assert "iteration" in followed(wait.log, wait, "en", terminal)


def test_a_log_that_does_not_exist_yet_is_waited_for(tmp_path: Path) -> None:
    assert followed(tmp_path / "events.jsonl", Writer(tmp_path / "x", [], 1), "en", terminal=False) == ""
