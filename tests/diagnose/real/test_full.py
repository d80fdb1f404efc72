"""A file system that is really full: nobody's fault, and the right one is called full."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.diagnose.real.job import Job, Said, torchrun, with_small_disk

pytestmark = pytest.mark.torch

Ask = Callable[..., Said]
SHM = Path("/dev/shm")  # noqa: S108  in a namespace of its own


def test_no_room_for_a_checkpoint(job: Job, said: Ask, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = torchrun("checkpoint.py", disk, 1, ranks=2)
    answer = said(job.run(with_small_disk(command, disk, kilobytes=1000)))
    assert answer.faults == ["storage"]
    assert answer.accused == set()
    assert "df -h" in answer.text


def test_no_room_for_the_batches_of_a_loader(job: Job, said: Ask) -> None:
    command = torchrun("loader.py", "large", ranks=2)
    answer = said(job.run(with_small_disk(command, SHM, kilobytes=700)))
    assert answer.faults == ["shm"]
    assert answer.accused <= {1}
    assert str(SHM) in answer.text
