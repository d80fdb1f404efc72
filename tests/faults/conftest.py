"""Processes to hit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from evenpace.faults.target import Target, aim

BUSY = "print('ready', flush=True)\nwhile True: pass"


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[str]]:
    """A process that looks like a worker of a run and burns CPU time."""
    environ = {**os.environ, "EVENPACE_RUN": "somewhere"}
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True, env=environ
    ) as process:
        assert process.stdout
        process.stdout.readline()
        yield process
        process.kill()


@pytest.fixture
def target(busy: subprocess.Popen[str]) -> Target:
    return aim(busy.pid)
