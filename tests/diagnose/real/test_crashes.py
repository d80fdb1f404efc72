"""One rank really dies, the others wait for it in a collective: it is named, and they are its victims."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.diagnose.real.job import DEADLINE, Job, Said, free_port, torchrun, two_nodes

pytestmark = pytest.mark.torch

Ask = Callable[..., Said]


def test_an_exception_of_one_rank(job: Job, said: Ask) -> None:
    answer = said(job.run(torchrun("train.py", "--misdeed=raise")))
    assert answer.faults == ["user-code-exception"]
    assert (answer.accused, answer.victims) == ({1}, {0, 2})
    assert "BadBatch" in answer.text
    assert "rank 1" in answer.text


def test_an_exception_in_the_files_of_each_rank(job: Job, said: Ask, tmp_path: Path) -> None:
    files = tmp_path / "ranks"
    console = job.run(
        torchrun(
            "train.py", "--misdeed=raise", options=("--standalone", "--redirects=3", f"--log-dir={files}")
        )
    )
    for folder in (files, tmp_path):
        answer = said(folder)
        assert answer.faults == ["user-code-exception"]
        assert (answer.accused, answer.victims) == ({1}, {0, 2})
    alone = said(console)
    assert alone.faults == ["unexplained-failure"]
    assert alone.named == []


def test_an_exception_in_the_table_of_the_launcher_alone(job: Job, said: Ask, tmp_path: Path) -> None:
    files = tmp_path / "ranks"
    options = ("--standalone", "--redirects=3", f"--log-dir={files}")
    answer = said(job.run(torchrun("train.py", "--misdeed=raise", "--record", options=options)))
    assert answer.faults == ["user-code-exception"]
    assert (answer.accused, answer.victims) == ({1}, {0, 2})
    assert "BadBatch" in answer.text


def restarted(job: Job) -> Path:
    """Run until a restarted job has ended; return its log.

    Now and then PyTorch's restarted workers wait for each other for ever in Gloo, before they train: another
    failure than the one that is asked for, so the job is run again.
    """
    command = torchrun("train.py", "--misdeed=raise", options=("--standalone", "--max-restarts=1"))
    for number in range(6):
        log = job.start(command, log=f"job{number}.log")
        try:
            job.started[-1].wait(30)
        except subprocess.TimeoutExpired:
            job.end()
        else:
            return log
    pytest.fail("the restarted workers never joined")


@pytest.mark.timeout(240)
def test_an_exception_before_a_restart_that_fails(job: Job, said: Ask) -> None:
    answer = said(restarted(job))
    assert answer.faults == ["user-code-exception"]
    assert answer.accused == {1}


def test_an_exception_on_the_second_of_two_nodes(job: Job, said: Ask) -> None:
    port = free_port()
    first, second = (
        job.start(
            torchrun("train.py", "--misdeed=raise", "--rank=3", ranks=2, options=two_nodes(node, port)),
            log=f"node{node}.log",
        )
        for node in (0, 1)
    )
    job.wait()
    for answer in (said(first, second), said(second)):
        assert answer.faults == ["user-code-exception"]
        assert answer.accused == {3}
    assert said(first, second).victims == {0, 1, 2}
    assert said(first).named == []


def test_a_kill_from_outside(job: Job, said: Ask, eventually: Callable[..., None]) -> None:
    log = job.start(torchrun("train.py", "--steps=1000000", f"--pids={job.folder}"))
    eventually(lambda: b"step 3" in log.read_bytes(), DEADLINE, what="training")
    os.kill(int((job.folder / "rank1").read_text()), signal.SIGKILL)
    job.wait()
    answer = said(log)
    assert answer.faults == ["oom-host"]
    assert (answer.accused, answer.victims) == ({1}, {0, 2})


def test_a_crash_in_native_code(job: Job, said: Ask) -> None:
    answer = said(job.run(torchrun("train.py", "--misdeed=segfault")))
    assert answer.faults == ["user-code-exception"]
    assert (answer.accused, answer.victims) == ({1}, {0, 2})
    assert "SIGSEGV" in answer.text


@pytest.mark.parametrize("what", ["tensor", "list"])
def test_no_memory_for(job: Job, said: Ask, what: str) -> None:
    answer = said(job.run(torchrun("train.py", f"--misdeed={what}", ranks=2)))
    assert answer.faults == ["oom-host"]
    assert (answer.accused, answer.victims) == ({1}, {0})
