"""Files beside a ring are read and put there without waiting for anybody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evenpace.collect.job import beside


def test_a_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "node.1.plan"
    beside.put(path, "12345")
    beside.put(path, "12346")
    assert (beside.read(path, 3), beside.read(path, 9)) == (b"123", b"12346")
    assert [one.name for one in tmp_path.iterdir()] == ["node.1.plan"]


def test_a_pipe_is_not_waited_for_and_gives_way(tmp_path: Path) -> None:
    path = tmp_path / "node.1.plan"
    os.mkfifo(path)
    os.mkfifo(tmp_path / "node.1.plan.new")
    assert beside.read(path, 9) == b""
    writer = os.open(path, os.O_RDWR)  # and says nothing
    assert beside.read(path, 9) == b""
    os.close(writer)
    beside.put(path, "plan")
    assert beside.read(path, 9) == b"plan"


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    other, path = tmp_path / "other", tmp_path / "node.1.plan"
    other.write_text("mine")
    path.symlink_to(other)
    (tmp_path / "node.1.plan.new").symlink_to(other)
    beside.put(path, "plan")
    assert (other.read_text(), path.read_text(), path.is_symlink()) == ("mine", "plan", False)


def test_what_cannot_be_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "node.1.plan").mkdir()
    with pytest.raises(OSError, match="directory"):
        beside.put(tmp_path / "node.1.plan", "plan")
    with pytest.raises(OSError, match="directory"):
        beside.read(tmp_path / "node.1.plan", 9)
