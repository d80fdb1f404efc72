from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenpace.errors import Problem
from evenpace.watch import eventlog
from evenpace.watch.eventlog import EventTail, EventWriter, LineProblem, read_events
from evenpace.watch.events import Event, Iteration, RunEnded, WatchDegraded, encode

TIME = "2026-01-02T03:04:05.000Z"
ENDED = RunEnded(time=TIME, outcome="finished", exit_code=0)


def degraded(text: str) -> WatchDegraded:
    return WatchDegraded(time=TIME, text=text)


def write(path: Path, *events: Event) -> None:
    writer = EventWriter(path, print)
    for event in events:
        writer.write(event)
    writer.close()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    events = [
        degraded("노드 한 개\nand a line"),
        Iteration(
            time=TIME, incarnation=0, iteration=3, ranks=[0], durations=[0.25], busy=[0.2], waiting=[0.0]
        ),
        ENDED,
    ]
    write(tmp_path / "log", *events)
    assert list(read_events(tmp_path / "log")) == events
    assert (tmp_path / "log").read_bytes().count(b"\n") == 3


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(damage=st.binary(max_size=200))
def test_damage_costs_only_the_lines_it_hits(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(encode(ENDED) + b"\n" + damage + b"\n" + encode(ENDED) + b"\n")
    problems: list[LineProblem] = []
    events = list(read_events(path, problems))
    assert events[0] == ENDED
    assert events[-1] == ENDED
    lines = [line for line in damage.split(b"\n") if line.strip()]
    assert len(events) - 2 + len(problems) == len(lines)
    assert all(2 <= problem.line < 2 + damage.count(b"\n") + 1 for problem in problems)


@pytest.mark.parametrize(
    "tail", [encode(ENDED)[:-5], b'{"event": "run-ended"', b"\xff\xfe\xff", b"[" * 20000]
)
def test_a_bad_line_is_reported_with_its_number(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(encode(ENDED) + b"\n\n" + tail)
    problems: list[LineProblem] = []
    assert list(read_events(path, problems)) == [ENDED]
    assert [problem.line for problem in problems] == [3]


def test_kinds_of_a_later_version_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b'{"event":"from-the-future","time":"x"}\n' + encode(ENDED) + b"\n")
    problems: list[LineProblem] = []
    assert list(read_events(path, problems)) == [ENDED]
    assert problems == []


def test_an_endless_line_is_skipped_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eventlog, "MAX_LINE", 1000)
    monkeypatch.setattr(eventlog, "CHUNK", 300)
    path = tmp_path / "log"
    path.write_bytes(b"x" * 50_000 + b"\n" + encode(ENDED) + b"\n")
    problems: list[LineProblem] = []
    assert list(read_events(path, problems)) == [ENDED]
    assert [problem.line for problem in problems] == [1]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\x00" * 4096, b"not a log\n"])
def test_a_log_without_any_event_is_a_problem(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(Problem, match="no event that can be read"):
        list(read_events(tmp_path / "log"))


def test_a_missing_log_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="cannot read"):
        list(read_events(tmp_path / "missing"))


def test_a_writer_goes_on_after_a_line_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(encode(ENDED) + b'\n{"event": "run-')
    write(path, ENDED)
    problems: list[LineProblem] = []
    assert list(read_events(path, problems)) == [ENDED, ENDED]
    assert [problem.line for problem in problems] == [2]


def test_a_full_disk_is_said_once_and_the_log_goes_on_when_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    warnings: list[str] = []
    writer = EventWriter(tmp_path / "log", warnings.append)
    writer.write(ENDED)

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    writer.write(ENDED)
    writer.write(ENDED)
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:10]))
    writer.write(ENDED)
    monkeypatch.setattr(os, "write", real)
    writer.write(degraded("space again"))
    assert (writer.lost, len(warnings)) == (3, 1)
    assert "No space left on device" in warnings[0]
    writer.close()
    assert "3 events were not written" in warnings[1]
    assert list(read_events(tmp_path / "log")) == [ENDED, degraded("space again")]


def test_two_writers_are_kept_apart(tmp_path: Path) -> None:
    first = EventWriter(tmp_path / "log", print)
    with pytest.raises(Problem, match="another evenpace"):
        EventWriter(tmp_path / "log", print)
    first.close()
    EventWriter(tmp_path / "log", print).close()


def test_a_log_that_cannot_be_opened_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="--run-dir"):
        EventWriter(tmp_path / "missing/log", print)


def test_the_log_is_readable_for_others(tmp_path: Path) -> None:
    write(tmp_path / "log", ENDED)
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) & 0o400


def test_a_tail_follows(tmp_path: Path) -> None:
    path = tmp_path / "log"
    tail = EventTail(path)
    assert tail.read() == []
    line = encode(ENDED) + b"\n"
    path.write_bytes(line + line[:10])
    assert tail.read() == [ENDED]
    assert tail.read() == []
    with path.open("ab") as file:
        file.write(line[10:] + b"damage\n" + line)
    assert tail.read() == [ENDED, ENDED]
    assert [problem.line for problem in tail.problems] == [3]
