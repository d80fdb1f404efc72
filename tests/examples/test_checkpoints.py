"""Checkpoints of the examples are complete or not there."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def checkpoints(monkeypatch: pytest.MonkeyPatch, repository: Path) -> Iterator[Any]:
    monkeypatch.syspath_prepend(repository / "examples")
    import checkpoints as module  # the examples' own

    yield module
    sys.modules.pop("checkpoints", None)


def write(checkpoints: Any, folder: Path, step: int) -> Path:
    aside = checkpoints.aside(folder, step)
    (aside / "state.pt").write_bytes(b"weights")
    path: Path = checkpoints.publish(aside, step)
    return path


def test_the_manifest_describes_each_file(checkpoints: Any, tmp_path: Path) -> None:
    path = write(checkpoints, tmp_path, 20)
    manifest = json.loads((path / "manifest.json").read_text())
    digest = hashlib.sha256(b"weights").hexdigest()
    assert manifest == {"step": 20, "files": {"state.pt": {"bytes": 7, "sha256": digest}}}


def test_a_half_written_one_is_not_seen(checkpoints: Any, tmp_path: Path) -> None:
    assert checkpoints.newest(tmp_path) is None
    path = write(checkpoints, tmp_path, 20)
    (checkpoints.aside(tmp_path, 40) / "state.pt").write_bytes(b"wei")
    assert checkpoints.newest(tmp_path) == (20, path)


def test_the_newest_complete_one_is_taken(checkpoints: Any, tmp_path: Path) -> None:
    write(checkpoints, tmp_path, 20)
    path = write(checkpoints, tmp_path, 100)
    damaged = write(checkpoints, tmp_path, 120)
    (damaged / "state.pt").write_bytes(b"short")
    assert checkpoints.newest(tmp_path) == (100, path)


def test_one_is_written_again_after_a_restart(checkpoints: Any, tmp_path: Path) -> None:
    write(checkpoints, tmp_path, 20)
    path = write(checkpoints, tmp_path, 20)
    assert checkpoints.newest(tmp_path) == (20, path)
