"""A job that really ends as it should, or because somebody says so: nobody's fault."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest
from tests.diagnose.real.job import DEADLINE, Job, Said, torchrun

pytestmark = pytest.mark.torch

Ask = Callable[..., Said]


def test_a_healthy_run(job: Job, said: Ask) -> None:
    log = job.run(torchrun("train.py", ranks=2))
    assert job.wait() == [0]
    assert b"step 4" in log.read_bytes()
    answer = said(log)
    assert (answer.code, answer.findings) == (0, [])


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM], ids=lambda which: which.name)
def test_a_signal_to_the_launcher(
    job: Job, said: Ask, eventually: Callable[..., None], which: signal.Signals
) -> None:
    log = job.start(torchrun("train.py", "--steps=1000000", ranks=2))
    eventually(lambda: b"step 3" in log.read_bytes(), DEADLINE, what="training")
    job.send(which)
    job.wait()
    answer = said(log)
    assert answer.faults == ["preempted-or-timelimit"]
    assert answer.named == []
    assert which.name in answer.text
