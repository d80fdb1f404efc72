"""A forked child of a worker that makes optimizer steps: it neither counts nor pauses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.torch
def test_a_forked_child_does_not_pause(run: Callable[..., Any], scripts: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, str(scripts / "forked.py"), kind="python")
    assert (ran.code, ran.out.splitlines()) == (0, ["CHILD passed", "WORKER went on"]), ran.err
    assert ran.headers[0].optimizer_steps == 2
