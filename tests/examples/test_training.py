"""Each example trains under torchrun alone, and goes on from its checkpoint to the same loss."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch


def train(repository: Path, script: str, folder: Path) -> str:
    """Train 6 steps on 2 workers; return the printed final loss."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"),
            *(str(repository / "examples" / script), "--steps=6", "--batch=4", "--layers=2", "--width=32"),
            *(f"--checkpoint-dir={folder}/checkpoints", "--checkpoint-every=3", f"--ids-log={folder}/ids"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return next(line for line in done.stdout.splitlines() if line.startswith("final loss"))


@pytest.mark.parametrize(
    "script", ["train_ddp.py", "train_fsdp2.py", "train_pipeline.py", "train_pipeline_data.py"]
)
def test_it_goes_on_from_a_checkpoint_as_if_nothing_had_been(
    repository: Path, script: str, tmp_path: Path
) -> None:
    undisturbed = train(repository, script, tmp_path)
    shutil.rmtree(tmp_path / "checkpoints" / "step-00000006")
    assert train(repository, script, tmp_path) == undisturbed
    log = [json.loads(line) for line in (tmp_path / "ids" / "rank0.jsonl").read_text().splitlines()]
    assert [line["step"] for line in log] == [0, *range(6), 3, *range(3, 6)]
    assert log[4]["ids"] == log[8]["ids"]
