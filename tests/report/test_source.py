from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evenpace.errors import Problem
from evenpace.report.source import find_log, read_story
from evenpace.watch import events as ev


def test_a_folder_or_its_log(demo: list[ev.Event], write_log: Callable[..., Path]) -> None:
    run = write_log(demo)
    assert find_log(run) == find_log(run / "events.jsonl") == run / "events.jsonl"


def test_a_missing_run_names_those_beside_it(demo: list[ev.Event], write_log: Callable[..., Path]) -> None:
    run = write_log(demo, "monday")
    with pytest.raises(Problem, match=r"no run .*tuesday; runs there: .*monday"):
        find_log(run.parent / "tuesday")
    with pytest.raises(Problem, match=r"no events.jsonl; runs there: .*monday"):
        find_log(run.parent)


def test_no_run_anywhere_near(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="give the folder that `evenpace run` made"):
        find_log(tmp_path / "a" / "b")


def test_damaged_lines_are_counted(demo: list[ev.Event], write_log: Callable[..., Path]) -> None:
    log = write_log(demo[:20]) / "events.jsonl"
    with log.open("ab") as file:
        file.write(b'\x00\xff garbage\n{"event":"run-ended"}\n{"event":"from-the-future","time":"x"}\n')
        file.write(ev.encode(ev.RunEnded(time="never", outcome="finished", exit_code=0)) + b"\n")
    story = read_story(log)
    assert (story.events, story.damaged) == (20, 3)


def test_nothing_readable(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.write_bytes(b"\x00" * 100)
    with pytest.raises(Problem, match="no event"):
        read_story(log)
    log.write_bytes(ev.encode(ev.RunEnded(time="never", outcome="finished", exit_code=0)) + b"\n")
    with pytest.raises(Problem, match="no event with a time"):
        read_story(log)
