"""A real training of two Gloo workers pauses, is measured, and learns what it would have learned."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evenpace.collect.job.rings import RingError, RingReader
from evenpace.respond.probing import ProbeRequest, Probing
from evenpace.tap.environment import environment
from evenpace.watch.events import Probed

EXAMPLES = Path(__file__).parents[3] / "examples"
STEPS = 50


def start(folder: Path) -> subprocess.Popen[str]:
    folder.mkdir()
    base = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "LD_PRELOAD"}}
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    return subprocess.Popen(
        [sys.executable, *torchrun, str(EXAMPLES / "train_ddp.py"), f"--steps={STEPS}", "--read-ms=50"],
        env=environment(folder, "node", "run", 0, base | {"OMP_NUM_THREADS": "1"}, "auto").env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def losses(process: subprocess.Popen[str]) -> list[str]:
    out, _ = process.communicate(timeout=100)
    assert process.returncode == 0, out
    return [line.split(" time ")[0] for line in out.splitlines() if " loss " in line]


def rings(folder: Path) -> dict[int, Path]:
    """Wait until both workers train; return their rings."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = {}
        for path in folder.glob("*.ring"):
            try:
                header = RingReader(path).header()
            except (OSError, RingError):
                continue
            if header.optimizer_steps:
                found[header.rank] = path
        if len(found) == 2:
            return found
        time.sleep(0.05)
    raise AssertionError("the workers do not train")


def probe(folder: Path) -> Probed:
    probing = Probing(rings(folder), folder)
    probing.start(ProbeRequest((0, 1), ((0, 1), (1, 0))))
    while (told := probing.poll()) is None:
        time.sleep(0.02)
    return told


@pytest.mark.torch
def test_a_training_pauses_and_learns_the_same(tmp_path: Path) -> None:
    paused, plain = start(tmp_path / "paused"), start(tmp_path / "plain")
    try:
        told = probe(tmp_path / "paused")
        assert losses(paused) == (expected := losses(plain))
    finally:
        paused.terminate()  # torchrun then ends its workers
        plain.terminate()
    assert (told.failed, told.passes) == ("", 2)
    assert [one.rank for one in told.compute] == [0, 1]
    assert {(one.source, one.target) for one in told.links} == {(0, 1), (1, 0)}
    assert all(one.wrong == 0 for one in told.compute)
    assert len(expected) == STEPS + 1  # and the final one
