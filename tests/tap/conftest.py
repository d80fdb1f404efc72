"""Start unmodified PyTorch scripts under the tap, and read what they left."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evenpace.collect.job.rings import RingHeader, RingReader
from evenpace.tap.environment import environment

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class Ran:
    """What a run printed and recorded; rings in order of rank."""

    code: int
    out: str
    err: str
    headers: list[RingHeader]
    records: list[NDArray[np.void]]

    @property
    def losses(self) -> list[str]:
        return sorted(line for line in self.out.splitlines() if line.startswith("LOSS"))


def _run(
    folder: Path,
    *arguments: str,
    kind: str,
    more: Mapping[str, str] | None = None,
    most_bytes: int | None = None,
) -> Ran:
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "LD_PRELOAD"}}
    base = kept | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"} | dict(more or {})

    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=environment(folder, "node", "run", 0, base, kind).env,
        preexec_fn=limit,  # noqa: PLW1509
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = process.communicate(timeout=100)
    except subprocess.TimeoutExpired:
        process.terminate()  # torchrun then ends its workers
        out, err = process.communicate(timeout=60)
        pytest.fail(f"it did not end\n{out}\n{err}")
    readers = [RingReader(path) for path in folder.glob("*.ring")]
    readers.sort(key=lambda reader: reader.header().rank)
    headers = [reader.header() for reader in readers]
    return Ran(process.returncode, out, err, headers, [reader.poll() for reader in readers])


@pytest.fixture(scope="session")
def run() -> Callable[..., Ran]:
    """Return a helper that runs Python with arguments under a tap of some kind.

    `more` is added to its environment; it can write no file larger than `most_bytes`.
    """
    return _run


@pytest.fixture(scope="session")
def scripts() -> Path:
    """Return the folder of the scripts that are run."""
    return SCRIPTS


@pytest.fixture(scope="session")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Ran]:
    """Return a helper that trains in every layout on two ranks, once for each kind of tap."""
    ran: dict[str, Ran] = {}

    def train(kind: str) -> Ran:
        if kind not in ran:
            script = str(SCRIPTS / "layouts.py")
            torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", script)
            folder = tmp_path_factory.mktemp(kind)
            ran[kind] = _run(folder, *torchrun, kind=kind, more={"JOIN_AGAIN": str(folder / "store")})
        return ran[kind]

    return train
