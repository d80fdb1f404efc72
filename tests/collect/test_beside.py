"""Files beside a ring are read without waiting for anybody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evenpace.collect import beside


def test_a_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "node.1.plan"
    path.write_text("12346")
    assert (beside.read(path, 3), beside.read(path, 9)) == (b"123", b"12346")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "node.1.plan"
    os.mkfifo(path)
    assert beside.read(path, 9) == b""
    writer = os.open(path, os.O_RDWR)  # and says nothing
    assert beside.read(path, 9) == b""
    os.close(writer)


def test_what_cannot_be_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        beside.read(tmp_path, 9)
