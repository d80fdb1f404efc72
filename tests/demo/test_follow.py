"""Following a run's events as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenpace.demo.follow import Follower, Late
from evenpace.watch.events import IncarnationEnded, RunEnded, encode

NOW = "2026-01-01T00:00:00.000Z"


def ended(incarnation: int) -> bytes:
    return encode(IncarnationEnded(time=NOW, incarnation=incarnation, outcome="finished")) + b"\n"


class Script:
    """A clock whose sleep writes the next piece of the file."""

    def __init__(self, path: Path, *pieces: bytes) -> None:
        self.path, self.pieces, self.now = path, list(pieces), 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.pieces:
            with self.path.open("ab") as file:
                file.write(self.pieces.pop(0))

    def clock(self) -> float:
        return self.now

    def follower(self) -> Follower:
        return Follower(self.path, lambda: bool(self.pieces) or self.now < 5, self.clock, self.sleep)


def test_it_waits_for_the_event_that_fits(tmp_path: Path) -> None:
    line = ended(1)
    script = Script(tmp_path / "events.jsonl", ended(0), line[:20], line[20:])
    found = script.follower().wait(IncarnationEnded, "it", 60, lambda event: event.incarnation == 1)
    assert found.incarnation == 1


def test_lines_of_a_later_version_are_passed_over(tmp_path: Path) -> None:
    script = Script(tmp_path / "events.jsonl", b'{"event":"novelty","time":"x"}\n\xff\n' + ended(3))
    assert script.follower().wait(IncarnationEnded, "it", 60).incarnation == 3


def test_it_says_what_did_not_come_in_time(tmp_path: Path) -> None:
    script = Script(tmp_path / "events.jsonl", ended(0))
    with pytest.raises(Late, match="the end did not come within 3 s"):
        script.follower().wait(RunEnded, "the end", 3)


def test_it_says_that_the_run_ended_before(tmp_path: Path) -> None:
    script = Script(tmp_path / "events.jsonl", ended(0))
    with pytest.raises(Late, match="the run ended before the end"):
        script.follower().wait(RunEnded, "the end", 60)
