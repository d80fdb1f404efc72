"""Start loops that use evenpace.torch, on real workers under the tap; or alone, in a group of one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenpace.tap.environment import environment

SCRIPTS = Path(__file__).parent / "scripts"


@pytest.fixture
def launch(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a helper that runs a script on ranks; it returns the JSON object that the script printed."""

    def run(script: str, ranks: int, *, tap: str = "python") -> dict[str, Any]:
        kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "LD_PRELOAD"}}
        base = kept | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
        done = subprocess.run(
            [sys.executable, *torchrun, str(SCRIPTS / script)],
            env=environment(tmp_path, "node", "run", 0, base, tap).env,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found | {"said": done.stderr}

    return run


@pytest.fixture
def alone() -> Iterator[Any]:
    """Join a process group of one, and return torch.distributed."""
    import torch.distributed as dist

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist
    dist.destroy_process_group()
