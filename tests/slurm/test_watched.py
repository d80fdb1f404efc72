"""The watcher of the audit sees what it must never do: an audit that is spoilt by one line is found out."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.slurm.watched import Watched, watched

pytestmark = pytest.mark.skipif(
    not (shutil.which("strace") or os.environ.get("CI")), reason="strace is not installed"
)


def did(code: str, folder: Path) -> Watched:
    """Run an audit's start, and code beside it, under the watcher."""
    logs = folder / "logs"
    logs.mkdir()
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    program = f"import evenpace.cli.audit, os, signal, subprocess, sys\nfolder = {str(folder)!r}\n{code}"
    return watched([sys.executable, "-c", program], environment, logs)


def test_what_only_reads_is_not_accused(tmp_path: Path) -> None:
    seen = did("open('/dev/null').read(); os.listdir(folder); os.kill(os.getpid(), 0)", tmp_path)
    assert (seen.returned, seen.changed, seen.signalled) == (0, set(), set())


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("open(folder + '/new', 'w')", "openat"),
        ("open(folder + '/new', 'ab')", "openat"),
        ("os.open(folder + '/logs', os.O_TMPFILE | os.O_RDWR)", "openat"),
        ("os.mkdir(folder + '/new')", "mkdir"),
        ("os.chmod(folder, 0o700)", "chmod"),
        ("os.fchmod(os.open(folder, os.O_RDONLY), 0o700)", "fchmod"),
        ("os.rename(folder + '/no', folder + '/new')", "rename"),
        ("os.unlink(folder + '/new')", "unlink"),
        ("os.symlink(folder, folder + '/new')", "symlink"),
        ("os.utime(folder)", "utimensat"),
        ("subprocess.run(['sh', '-c', 'echo >' + folder + '/new'])", "openat"),
    ],
)
def test_what_changes_a_file_is_seen(code: str, call: str, tmp_path: Path) -> None:
    seen = did(code, tmp_path)
    assert [one for one in seen.changed if one.startswith(call) and str(tmp_path) in one]


def test_a_signal_to_another_is_seen_and_one_to_its_own_child_is_not(tmp_path: Path) -> None:
    own = "child = subprocess.Popen(['sleep', '60']); child.kill(); child.wait()"
    seen = did(f"{own}; os.kill(os.getppid(), signal.SIGCONT)", tmp_path)
    assert len(seen.signalled) == 1
    assert "SIGCONT" in next(iter(seen.signalled))


def test_a_program_and_a_connection_are_seen(tmp_path: Path) -> None:
    code = "import socket; socket.socket().connect_ex(('127.0.0.1', 9)); subprocess.run(['true', 'x'])"
    seen = did(code, tmp_path)
    assert ["true", "x"] in seen.run
    assert [one for one in seen.connected if "127.0.0.1" in one]
