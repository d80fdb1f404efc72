"""What the real jobs share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.diagnose.real.job import Job, Said, ask


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    """Give a job whose processes are ended after the test."""
    one = Job(tmp_path)
    yield one
    one.end()


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Give what diagnoses logs."""
    return lambda *logs: ask(capfd, *logs)
