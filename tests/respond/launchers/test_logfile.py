from __future__ import annotations

import os
from pathlib import Path

import pytest

from evenpace.respond.launchers.logfile import AHEAD, STEP, Reserve, open_log


def blocks(path: Path) -> int:
    return path.stat().st_blocks * 512


def test_room_is_kept_ahead_and_given_back(tmp_path: Path) -> None:
    path = tmp_path / "node0.log"
    descriptor = open_log(path)
    reserve = Reserve(path)
    reserve.fill()
    assert path.stat().st_size == 0
    assert blocks(path) in (0, AHEAD)  # 0 where the file system cannot do it
    able = blocks(path) > 0
    os.write(descriptor, b"x" * (STEP + 10))
    reserve.fill()
    assert not able or blocks(path) >= STEP + AHEAD
    reserve.release()
    os.close(descriptor)
    assert path.read_bytes() == b"x" * (STEP + 10)
    assert blocks(path) < STEP + AHEAD


def test_a_log_that_cannot_be_opened_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_log(tmp_path / "missing/node0.log")
    Reserve(tmp_path / "missing/node0.log").fill()
    Reserve(tmp_path / "missing/node0.log").release()
