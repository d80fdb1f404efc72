from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evenpace.collect.job.rings import RingHeader, RingReader
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.tap.inject.evenpace_tap.lifecycle import Heartbeat
from evenpace.tap.inject.evenpace_tap.ring import Ring
from evenpace.tap.inject.evenpace_tap.rounds import MOST_FAILURES

EXITED, EXCEPTION = layout.STATE_EXITED, layout.STATE_EXCEPTION
UNKNOWN = layout.EXIT_CODE_UNKNOWN


def ended(folder: Path, scripts: Path, program: str) -> tuple[int, str, RingHeader]:
    ring = folder / "node.1.ring"
    command = [sys.executable, str(scripts / "ending.py"), str(ring), program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, RingReader(ring).header()


@pytest.mark.parametrize(
    ("program", "code", "told"),
    [
        ("pass", 0, (EXITED, 0)),
        ("sys.exit()", 0, (EXITED, 0)),
        ("sys.exit(3)", 3, (EXITED, 3)),
        ("sys.exit('no data')", 1, (EXITED, 1)),
        ("sys.exit(-1)", 255, (EXITED, 255)),
        ("exit(3)", 3, (EXITED, 3)),
        ("quit()", 0, (EXITED, 0)),
        ("raise SystemExit(3)", 3, (EXITED, UNKNOWN)),
        ("raise SystemExit(None)", 0, (EXITED, UNKNOWN)),
        ("early_exit(4)", 4, (EXITED, UNKNOWN)),
        ("1 / 0", 1, (EXCEPTION, 1)),
    ],
)
def test_how_a_process_ended_is_told_or_is_unknown(
    tmp_path: Path, scripts: Path, program: str, code: int, told: tuple[int, int]
) -> None:
    ended_with, _, header = ended(tmp_path, scripts, program)
    assert (ended_with, header.state, header.exit_code) == (code, *told)
    assert header.exited_ns > header.started_ns


CAUGHT = """
try:
    try:
        1 / 0
    except ZeroDivisionError:
        sys.exit(1)
except SystemExit:
    print(state())
"""


def test_an_exit_that_is_caught_marks_nobody(tmp_path: Path, scripts: Path) -> None:
    code, out, header = ended(tmp_path, scripts, CAUGHT)
    assert (code, out) == (0, f"{layout.STATE_RUNNING}\n")
    assert (header.state, header.exit_code, header.exception) == (EXITED, 0, "")


def test_an_exit_that_was_caught_is_not_why_a_later_one_ends_it(tmp_path: Path, scripts: Path) -> None:
    code, _, header = ended(tmp_path, scripts, CAUGHT + "sys.exit(2)")
    assert (code, header.state, header.exit_code, header.exception) == (2, EXITED, 2, "")


def test_the_error_being_handled_at_an_exit_is_told(tmp_path: Path, scripts: Path) -> None:
    program = "try:\n    1 / 0\nexcept ZeroDivisionError:\n    sys.exit(5)"
    code, _, header = ended(tmp_path, scripts, program)
    assert (code, header.state, header.exit_code) == (5, EXCEPTION, 5)
    assert header.exception.startswith("ZeroDivisionError: division by zero\nTraceback")


def test_the_heart_beats_on_where_groups_cannot_be_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "CAPACITY", 64)
    tries = []

    def fail() -> None:
        tries.append(len(tries))
        raise ValueError("no such group")

    ring = Ring(str(tmp_path / "n.1.ring"), "node", layout.TAP_PYTHON)
    heartbeat = Heartbeat(ring, fail)
    for _ in range(2 * MOST_FAILURES):
        before = ring.get("heartbeat_ns")
        heartbeat.round()
        assert ring.get("heartbeat_ns") > before
    assert len(tries) == MOST_FAILURES
    told = "publishing of groups has stopped: ValueError('no such group')"
    assert RingReader(tmp_path / "n.1.ring").header().message == told


@pytest.mark.parametrize(("program", "told"), [("pass", 0), ("raise SystemExit(3)", UNKNOWN)])
def test_a_launcher_may_run_the_exit_functions_itself(
    tmp_path: Path, scripts: Path, program: str, told: int
) -> None:
    ring = tmp_path / "node.1.ring"
    launcher = (
        "import atexit, os, sys\n"
        f"script = {str(scripts / 'ending.py')!r}\n"
        "try:\n"
        "    exec(compile(open(script).read(), script, 'exec'), {'__name__': '__main__'})\n"
        "except SystemExit:\n"
        "    pass\n"
        "atexit._run_exitfuncs()\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", launcher, str(ring), program], timeout=60, check=True)
    header = RingReader(ring).header()
    assert (header.state, header.exit_code) == (EXITED, told)
