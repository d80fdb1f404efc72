"""What is handed to the loop is there whole, whatever was there before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evenpace.respond.handing import put


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "node.1.plan"
    put(path, "12345")
    put(path, "12346")
    assert path.read_text() == "12346"
    assert [one.name for one in tmp_path.iterdir()] == ["node.1.plan"]


def test_a_pipe_gives_way(tmp_path: Path) -> None:
    path = tmp_path / "node.1.plan"
    os.mkfifo(path)
    os.mkfifo(tmp_path / "node.1.plan.new")
    put(path, "plan")
    assert path.read_text() == "plan"


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    other, path = tmp_path / "other", tmp_path / "node.1.plan"
    other.write_text("mine")
    path.symlink_to(other)
    (tmp_path / "node.1.plan.new").symlink_to(other)
    put(path, "plan")
    assert (other.read_text(), path.read_text(), path.is_symlink()) == ("mine", "plan", False)


def test_what_cannot_be_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "node.1.plan").mkdir()
    with pytest.raises(OSError, match="directory"):
        put(tmp_path / "node.1.plan", "plan")
