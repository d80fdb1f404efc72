"""Who gets a ring, and when it can be seen. No torch here; with it: test_workers.py and test_layouts.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenpace.tap.inject.evenpace_tap import layout

OF_A_LAUNCHER = {"RANK": "5", "LOCAL_RANK": "1"}


@pytest.mark.parametrize("more", [{}, OF_A_LAUNCHER])
def test_a_child_of_a_worker_is_no_worker(
    run: Callable[..., Any], scripts: Path, tmp_path: Path, more: dict[str, str]
) -> None:
    ran = run(tmp_path, str(scripts / "join.py"), "2", kind="python", more=more)
    assert (ran.code, ran.err) == (0, "")
    (header,) = ran.headers
    assert (header.rank, header.state, header.exit_code) == (5, layout.STATE_EXITED, 0)


def test_a_child_of_a_launcher_that_has_a_rank_is_a_worker(
    run: Callable[..., Any], scripts: Path, tmp_path: Path
) -> None:
    program = f"import subprocess, sys; subprocess.run([sys.executable, {str(scripts / 'join.py')!r}, '0'])"
    ran = run(tmp_path, "-c", program, kind="python", more=OF_A_LAUNCHER)
    assert [header.rank for header in ran.headers] == [5]


def test_the_rank_is_written_when_all_else_is_there(
    run: Callable[..., Any], scripts: Path, tmp_path: Path
) -> None:
    ran = run(tmp_path, str(scripts / "join.py"), "0", kind="python", more=OF_A_LAUNCHER)
    assert ran.out == "RANK after 8 1 operations are not seen:\n"
