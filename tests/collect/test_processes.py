"""Processes: alive, stopped, dead, or another one under the same pid."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from evenpace.collect.job.processes import ProcessFacts, read_process


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", "print(1, flush=True); input()"], stdin=-1, stdout=-1
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_own_process_runs() -> None:
    facts = read_process(os.getpid())
    assert facts is not None
    assert facts.cpu_seconds > 0
    assert not facts.stopped
    assert not facts.dead


def test_a_stopped_process_is_seen(child: subprocess.Popen[bytes]) -> None:
    os.kill(child.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    facts = read_process(child.pid)
    assert facts is not None
    assert facts.stopped


def test_a_dead_process_is_seen(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    facts = read_process(child.pid)
    assert facts is None or facts.dead
    child.wait()
    assert read_process(child.pid) is None


def test_a_reused_pid_is_another_process() -> None:
    facts = read_process(os.getpid())
    assert facts is not None
    assert read_process(os.getpid(), facts.start_ticks) is not None
    assert read_process(os.getpid(), facts.start_ticks + 1) is None


def test_letters_of_the_kernel() -> None:
    facts = [ProcessFacts(1, letter, 0, 0.0, None) for letter in "RSDTtZX"]
    assert [one.stopped for one in facts] == [False, False, False, True, True, False, False]
    assert [one.dead for one in facts] == [False, False, False, False, False, True, True]
