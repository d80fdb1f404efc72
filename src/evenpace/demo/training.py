"""The training of the demo: the example script, with and without evenpace."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import evenpace
from evenpace.errors import Problem

NODES = 4
STEPS = 240
BATCH = 16
CHECKPOINT_EVERY = 20
READ_MS = 50  # the simulated storage sets the pace, so that a few cores are enough
INSTALL = "pip install torch (CPU build: --index-url https://download.pytorch.org/whl/cpu), then try again"


def require_torch() -> None:
    """Raise Problem where PyTorch is not installed."""
    if find_spec("torch") is None:
        raise Problem(f"the demo trains with PyTorch, which is not installed here: {INSTALL}")


def examples() -> Path:
    """Return the folder of the example scripts: beside the installed package, or in the source tree."""
    package = Path(evenpace.__file__).parent
    for folder in (package / "examples", package.parent.parent / "examples"):
        if (folder / "train_ddp.py").is_file():
            return folder
    raise Problem(
        "the example scripts are not installed; install evenpace from its wheel or run the source tree"
    )


def torchrun() -> list[str]:
    """Return the command of torchrun for this Python."""
    beside = Path(sys.executable).with_name("torchrun")
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "torch.distributed.run"]


def script(folder: Path, read_ms: float) -> list[str]:
    """Return the script with its arguments; what it writes goes to `folder`."""
    return [
        str(examples() / "train_ddp.py"),
        *(f"--steps={STEPS}", f"--batch={BATCH}", f"--read-ms={read_ms}", f"--ids-log={folder / 'ids'}"),
        *(f"--checkpoint-dir={folder / 'checkpoints'}", f"--checkpoint-every={CHECKPOINT_EVERY}"),
    ]


def watched(folder: Path, lang: str) -> list[str]:
    """Return the command of the demo's run: four emulated nodes of one worker each, and a spare."""
    return [
        *(sys.executable, "-m", "evenpace", "run", f"--nodes={NODES}", "--spares=1", "--policy=restart"),
        *(f"--checkpoint-dir={folder / 'checkpoints'}", f"--run-dir={folder}", f"--lang={lang}", "--quiet"),
        *("--", *torchrun(), "--nproc-per-node=1", *script(folder, READ_MS)),
    ]


def undisturbed(folder: Path) -> str:
    """Train the same without evenpace, faults and slow storage; return what the script printed."""
    command = [*torchrun(), "--standalone", f"--nproc-per-node={NODES}", *script(folder, 0)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet())
    if done.returncode:
        raise Problem(f"the undisturbed training failed: {(done.stderr.splitlines() or ['?'])[-1]}")
    return done.stdout


def start(command: Sequence[str], said: Path) -> subprocess.Popen[bytes]:
    """Start evenpace in a session of its own; what it says goes to the file `said`."""
    with said.open("wb") as file:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=quiet(), start_new_session=True
        )


def quiet() -> dict[str, str]:
    """Return the environment; one thread a worker, which torchrun would set with a warning."""
    return {**os.environ, "OMP_NUM_THREADS": "1"}
