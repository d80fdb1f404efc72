"""Ranks of a real job change places: the training goes on as if they had not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evenpace.tap.environment import environment
from evenpace.tap.inject.evenpace_tap import layout

pytestmark = pytest.mark.torch

STEPS = 32
LOOP = """
import torch, torch.distributed as dist
from evenpace.torch import Positions
dist.init_process_group("gloo")
made = []

def build(stage):
    made.append(stage)
    if len(made) > 1 and dist.get_rank() == 1:
        raise MemoryError("no room")
    return {"module": torch.nn.Linear(1, 1 + stage)}

positions = Positions(2, 1, build, micro_batches=1)
before = positions.parts["module"]
positions._agreement.step = lambda: type("Plan", (), {"version": 1, "values": (1, 0)})
assert not positions.step()
assert (positions.stage, positions.parts["module"]) == (dist.get_rank(), before)
positions.close()
dist.barrier()
dist.destroy_process_group()
"""
SIZES = ["--pipeline=2", "--data=2", "--batch=16", "--layers=2", "--width=16", "--length=8", "--float64"]


def train(repository: Path, folder: Path, plans: list[dict[str, list[int]]]) -> str:
    """Train, with a plan announced after each fourth step; return what it printed."""
    rings = folder / "rings"
    rings.mkdir(parents=True)
    script = str(repository / "examples" / "train_pipeline_data.py")
    job = subprocess.Popen(
        [
            *(sys.executable, str(repository / "benchmarks" / "forkrun.py"), "4", script, *SIZES),
            *(f"--steps={STEPS}", f"--checkpoint-dir={folder}", f"--checkpoint-every={STEPS}"),
            f"--ids-log={folder}/ids",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(rings, "node", "test", 0, {**os.environ, "OMP_NUM_THREADS": "1"}).env,
    )
    said = ""
    with job:
        for line in job.stdout or ():
            said += line
            step = re.match(r"step (\d+) ", line)
            if step and plans and int(step[1]) % 4 == 3:
                announce(rings, 1 + STEPS - len(plans), plans.pop(0))
    assert job.returncode == 0, said
    return said


def announce(rings: Path, version: int, plan: dict[str, list[int]]) -> None:
    """Put a plan beside the ring of rank 0, which is the one with an offer."""
    (offer,) = rings.glob(f"*{layout.OFFER_SUFFIX}")
    path = offer.with_suffix(layout.PLAN_SUFFIX)
    aside = path.with_name("new")
    aside.write_text(json.dumps({"version": version, **plan}))
    aside.rename(path)


def samples(folder: Path) -> dict[int, list[int]]:
    """Return the samples of each step, over all ranks."""
    used: dict[int, list[int]] = {}
    for path in (folder / "ids").iterdir():
        for line in map(json.loads, path.read_text().splitlines()):
            used.setdefault(line["step"], []).extend(line.get("ids", ()))
    return {step: sorted(ids) for step, ids in used.items()}


def test_the_training_is_the_same_wherever_its_ranks_are(repository: Path, tmp_path: Path) -> None:
    import torch

    train(repository, tmp_path / "still", [])
    # Across stages, all of them; not a permutation: ignored; uneven; within a stage; uneven again; and back.
    plans = [
        *({"positions": [2, 3, 1, 0]}, {"positions": [0, 0, 1, 2]}, {"counts": [5, 3]}),
        *({"positions": [3, 2, 1, 0]}, {"counts": [2, 6]}, {"positions": [0, 1, 2, 3]}, {"counts": [4, 4]}),
    ]
    said = train(repository, tmp_path / "moved", plans)
    assert said.count("is ignored: not every position has one rank") == 1
    assert samples(tmp_path / "moved") == samples(tmp_path / "still")
    for stage in range(2):
        name = f"step-{STEPS:08d}/stage{stage}.pt"
        still, moved = (
            torch.load(tmp_path / which / name, weights_only=True)["module"] for which in ("still", "moved")
        )
        for key in still:
            torch.testing.assert_close(moved[key], still[key], rtol=0, atol=1e-12)
    (offer,) = (tmp_path / "moved" / "rings").glob(f"*{layout.OFFER_SUFFIX}")
    content = json.loads(offer.read_text())["positions"]
    assert content["ranks"] == [0, 1, 2, 3]
    assert min(content["bytes"]) > 0


def test_nobody_moves_where_one_cannot(repository: Path, tmp_path: Path) -> None:
    script = tmp_path / "loop.py"
    script.write_text(LOOP)
    done = subprocess.run(
        [sys.executable, str(repository / "benchmarks" / "forkrun.py"), "2", str(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("rank 1 cannot change its position: MemoryError: no room") == 1
