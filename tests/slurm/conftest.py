"""One real Slurm for all tests of this folder; each test leaves it as it found it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.slurm.real import RealSlurm, missing


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSlurm]:
    """Start it; where its programs are not installed tests are skipped, or fail where CI is set."""
    if lacking := missing():
        word = f"no {', '.join(lacking)} here: apt-get install slurm-wlm munge slurmdbd mariadb-server"
        if os.environ.get("CI"):
            pytest.fail(word)
        pytest.skip(word)
    slurm = RealSlurm(Path(tmp_path_factory.mktemp("slurm")))
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.stop()


@pytest.fixture
def slurm(started: RealSlurm, monkeypatch: pytest.MonkeyPatch) -> RealSlurm:
    """Return the cluster; commands that this process starts talk to it."""
    for name in ("PATH", "SLURM_CONF"):
        monkeypatch.setenv(name, started.environment[name])
    return started
