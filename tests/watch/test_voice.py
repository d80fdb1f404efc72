from __future__ import annotations

import os
import re
from pathlib import Path

from evenpace.watch.voice import Voice


def test_each_text_is_one_harmless_line(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as stream, Voice(stream, "en") as voice:
        voice.say("two\nlines\x1b[2J")
        voice.say("노드")
    assert (tmp_path / "out").read_text("utf-8").splitlines() == [
        "evenpace: two lines\ufffd[2J",
        "evenpace: 노드",
    ]


def test_who_does_not_read_holds_up_nobody_and_hears_how_much_was_left_out() -> None:
    """A full pipe blocks the thread alone; what then finds no room is counted."""
    reads, writes = os.pipe()
    with os.fdopen(writes, "w") as stream:
        with Voice(stream, "en", most=3, patience=0.05) as voice:
            for number in range(40):
                voice.say(f"{number} " + "x" * 200_000)
        assert voice._thread.is_alive()
        got, told, left_out = b"", 0, 0
        while told + left_out < 40:  # ends by the time limit of the tests
            got += os.read(reads, 1 << 20)
            told = got.count(b"x\n")
            left_out = sum(map(int, re.findall(rb"evenpace: (\d+) lines are left out here", got)))
    os.close(reads)
    assert told + left_out == 40
    assert left_out


def test_a_stream_that_is_gone_or_none_stops_nothing(tmp_path: Path) -> None:
    closed = (tmp_path / "out").open("w")
    closed.close()
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w") as broken:
        for stream in (closed, None, broken):
            with Voice(stream, "en", most=2) as voice:
                for _ in range(5):
                    voice.say("x")
