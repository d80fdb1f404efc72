"""How a worker begins and ends, and that training goes on whatever happens to its ring."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenpace.collect.job.rings import Group, read_groups
from evenpace.tap.inject.evenpace_tap import layout

Run = Callable[..., Any]
ONE = "REFUSED\nLOSS 12.0\n"


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["auto", "python"])
def test_exceptions_are_recorded(run: Run, scripts: Path, tmp_path: Path, kind: str) -> None:
    ran = run(tmp_path, str(scripts / "one.py"), "raise", kind=kind)
    (header,) = ran.headers
    assert (ran.code, ran.out) == (1, ONE)
    assert "ValueError: the loss is not a number" in ran.err
    assert (header.state, header.exit_code, header.rank) == (layout.STATE_EXCEPTION, 1, 0)
    assert header.exception.startswith("ValueError: the loss is not a number\nTraceback")
    assert "one.py" in header.exception
    (records,) = ran.records  # the forked loader's worker has written nothing
    assert records["sequence"].tolist() == [0, 1, 2, 3, 4]
    failed = (records["flags"] & layout.FLAG_FAILED).tolist()
    assert failed == [layout.FLAG_FAILED, 0, 0, 0, 0] or kind == "python"  # which may not know
    assert (records["complete_ns"] > 0).all()
    (groups,) = tmp_path.glob("*.groups")
    assert read_groups(groups) == {int(records["group"][0]): Group("0", (0,))}


@pytest.mark.torch
def test_an_exit_code_is_recorded(run: Run, scripts: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, str(scripts / "one.py"), "3", kind="auto")
    (header,) = ran.headers
    assert (ran.code, header.state, header.exit_code) == (3, layout.STATE_EXITED, 3)
    assert header.exited_ns > header.started_ns


@pytest.mark.torch
def test_a_killed_worker_stays_running_in_its_ring(run: Run, scripts: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, str(scripts / "one.py"), "kill", kind="auto")
    (header,) = ran.headers
    assert (ran.code, header.state, header.exited_ns) == (-9, layout.STATE_RUNNING, 0)


@pytest.mark.torch
def test_spawned_ranks_are_known_and_the_failed_one_says_why(run: Run, scripts: Path, tmp_path: Path) -> None:
    ran = run(tmp_path, str(scripts / "spawn.py"), str(tmp_path / "store"), kind="auto")
    assert ran.code == 1
    assert [header.rank for header in ran.headers] == [0, 1]
    assert ran.headers[1].exception.startswith("ValueError: no such sample\n")
    assert ran.headers[1].state == layout.STATE_EXCEPTION
    assert not ran.headers[0].exception.startswith("ValueError")
    assert ran.records[1]["sequence"].tolist() == [0, 1, 2]


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["auto", "python"])
def test_training_goes_on_where_the_disk_is_full(run: Run, scripts: Path, tmp_path: Path, kind: str) -> None:
    ran = run(tmp_path, str(scripts / "one.py"), "0", kind=kind, most_bytes=1 << 20)
    assert (ran.code, ran.out) == (0, ONE)
    assert ran.err.count("evenpace:") == 1
    assert "not watched" in ran.err
    assert not list(tmp_path.iterdir())


@pytest.mark.torch
def test_training_goes_on_where_there_is_no_folder(run: Run, scripts: Path, tmp_path: Path) -> None:
    ran = run(tmp_path / "gone", str(scripts / "one.py"), "0", kind="auto")
    assert (ran.code, ran.out) == (0, ONE)
    assert ran.err.count("evenpace:") == 1


def test_an_exception_before_joining_is_recorded_for_workers_only(run: Run, tmp_path: Path) -> None:
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', '1/0']); [][1]"
    ran = run(tmp_path, "-c", program, kind="auto", more={"RANK": "2", "WORLD_SIZE": "4", "LOCAL_RANK": "0"})
    (header,) = ran.headers  # the worker's child has none
    assert (header.rank, header.world_size, header.state) == (2, 4, layout.STATE_EXCEPTION)
    assert header.exception.startswith("IndexError: list index out of range")
    assert "ZeroDivisionError" in ran.err

    agent = tmp_path / "agent"
    agent.mkdir()
    ran = run(agent, "-c", "1/0", kind="auto")
    assert ran.code == 1
    assert not ran.headers


def test_the_users_own_sitecustomize_and_path_stay(run: Run, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys\nsys.own = True\nsys.path.append('/added')\n")
    program = "import sys; print(sys.own, '/added' in sys.path, [p for p in sys.path if 'inject' in p])"
    ran = run(tmp_path, "-c", program, kind="auto", more={"PYTHONPATH": str(own)})
    assert ran.out == "True True []\n"


def test_an_error_of_the_users_own_sitecustomize_is_seen_as_ever(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import no_such_module\n")
    ran = run(tmp_path, "-c", "print('on')", kind="auto", more={"PYTHONPATH": str(tmp_path)})
    assert (ran.code, ran.out) == (0, "on\n")
    assert "Error in sitecustomize" in ran.err
    assert "no_such_module" in ran.err
