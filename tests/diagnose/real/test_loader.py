"""A worker process of one rank's DataLoader really fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.diagnose.real.job import Job, Said, torchrun

pytestmark = pytest.mark.torch


@pytest.mark.parametrize(("misdeed", "fault"), [("raise", "data-loader"), ("killed", "oom-host")])
def test_a_worker_of_one_rank(job: Job, said: Callable[..., Said], misdeed: str, fault: str) -> None:
    answer = said(job.run(torchrun("loader.py", misdeed, ranks=2)))
    assert answer.faults == [fault]
    assert (answer.accused, answer.victims) == ({1}, {0})
