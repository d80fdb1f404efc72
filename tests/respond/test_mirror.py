from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenpace.respond.mirror import Mirror


@pytest.fixture
def output(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "out", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


def test_one_log_is_shown_as_it_is(tmp_path: Path, output: int, eventually: Any) -> None:
    log = tmp_path / "here.log"
    mirror = Mirror(output)
    mirror.follow({"here": log}, names=False)
    log.write_bytes(b"\r 10%\r 20%")
    eventually(lambda: (tmp_path / "out").read_bytes() == b"\r 10%\r 20%")
    mirror.close()


def test_lines_of_several_nodes_carry_their_names(tmp_path: Path, output: int) -> None:
    logs = {node: tmp_path / node for node in ("node0", "node1")}
    logs["node0"].write_text("one\ntwo\nwithout end")
    logs["node1"].write_text("x" * 200_000 + "\nlast\n")
    mirror = Mirror(output)
    mirror.follow(logs, names=True)
    mirror.close()
    lines = (tmp_path / "out").read_text().splitlines()
    assert [line for line in lines if "node0" in line] == [
        "[node0] one",
        "[node0] two",
        "[node0] without end",
    ]
    assert lines[-1] == "[node1] last"
    assert sum(line.count("x") for line in lines) == 200_000


def test_what_was_there_already_can_be_left_out(tmp_path: Path, output: int) -> None:
    log = tmp_path / "here.log"
    log.write_text("old\n")
    mirror = Mirror(output)
    mirror.follow({"here": log}, names=False, from_end=True)
    with log.open("a") as file:
        file.write("new\n")
    mirror.close()
    assert (tmp_path / "out").read_text() == "new\n"


def test_a_reader_that_went_away_stops_nothing(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    (tmp_path / "log").write_text("x\n")
    mirror = Mirror(writing)
    mirror.follow({"here": tmp_path / "log"}, names=False)
    mirror.close()
    os.close(writing)
