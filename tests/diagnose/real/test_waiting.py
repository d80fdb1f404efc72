"""One rank really does not come, or with something else: it is named where logs identify it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from tests.diagnose.real.job import DEADLINE, Job, Said, torchrun

pytestmark = pytest.mark.torch

Ask = Callable[..., Said]


def test_a_rank_that_sleeps_is_named_where_all_others_gave_up(job: Job, said: Ask) -> None:
    answer = said(job.run(torchrun("train.py", "--misdeed=hang", "--patience=3", ranks=4)))
    assert answer.accused <= {1}
    assert answer.victims >= {0, 2, 3}


def test_a_rank_that_is_stopped_is_not_named_by_those_who_wait(
    job: Job, said: Ask, eventually: Callable[..., None]
) -> None:
    log = job.start(torchrun("train.py", "--steps=1000000", "--patience=3", f"--pids={job.folder}"))
    eventually(lambda: b"step 3" in log.read_bytes(), DEADLINE, what="training")
    pid = int((job.folder / "rank1").read_text())
    os.kill(pid, signal.SIGSTOP)
    eventually(
        lambda: f"Sending process {pid} closing signal".encode() in log.read_bytes(), DEADLINE, what="the end"
    )
    os.kill(pid, signal.SIGCONT)
    job.wait()
    answer = said(log)
    assert answer.faults == ["unexplained-failure"]
    assert answer.named == []


def test_a_monitored_barrier_names_who_did_not_come(job: Job, said: Ask) -> None:
    answer = said(job.run(torchrun("barrier.py", 1)))
    assert answer.faults == ["non-communication-hang"]
    assert (answer.accused, answer.victims) == ({1}, {0, 2})
    assert answer.findings[0]["confidence"] > 0.5


def test_a_collective_of_another_shape(job: Job, said: Ask) -> None:
    debug = {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}
    answer = said(job.run(torchrun("train.py", "--misdeed=shape"), env=debug))
    assert answer.faults == ["collective-desync"]
    assert (answer.accused, answer.victims) == ({1}, {0, 2})


def test_a_collective_of_another_shape_unchecked(job: Job, said: Ask) -> None:
    answer = said(job.run(torchrun("train.py", "--misdeed=shape", ranks=2)))
    assert answer.faults == ["collective-desync"]
    assert answer.named == []
