"""Read a user's torchrun command, and make it one node's part of a job of several nodes."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import PurePath

from evenpace.errors import Problem

MODULES = ("torch.distributed.run", "torch.distributed.launch")
# torchrun's own options that take no value; all others take one (torch.distributed.run.get_args_parser).
FLAGS = (
    "--standalone",
    "--no-python",
    "-m",
    "--module",
    "--run-path",
    "--use-env",
    "--virtual-local-rank",
    "-h",
    "--help",
)
# argparse takes any unambiguous beginning of an option, so these are beginnings.
OURS = ("--nn", "--node", "--rdzv", "--master", "--standalone")
INSTALL = "install PyTorch in the environment of the job (pip install torch), or activate that environment"


def _python(word: str) -> bool:
    return re.fullmatch(r"python[\d.]*", PurePath(word).name) is not None


def program_end(command: Sequence[str]) -> int | None:
    """Return how many words name torchrun (`torchrun`, `python -m torch.distributed.run`), or None."""
    if PurePath(command[0]).name == "torchrun":
        return 1
    if not _python(command[0]):
        return None
    for place, word in enumerate(command[1:], start=1):
        if word == "-m":
            return place + 2 if command[place + 1 : place + 2] and command[place + 1] in MODULES else None
        if not word.startswith("-"):
            return 2 if place == 1 and PurePath(word).name == "torchrun" else None
    return None


def own_options(arguments: Sequence[str]) -> list[str]:
    """Return torchrun's own options among its arguments, without values; the script's are left out."""
    options, place = [], 0
    while place < len(arguments) and arguments[place].startswith("-") and arguments[place] != "--":
        name = arguments[place].partition("=")[0]
        options.append(name.replace("_", "-"))
        place += 1 if "=" in arguments[place] or options[-1] in FLAGS else 2
    return options


def require_multinode(command: Sequence[str]) -> None:
    """Raise Problem where `command` cannot start once a node: no torchrun, or its own rendezvous."""
    end = program_end(command)
    if end is None:
        raise Problem(
            f"--nodes starts one torchrun a node, but the command is {command[0]!r}; "
            "begin it with torchrun (or python -m torch.distributed.run), or leave --nodes out"
        )
    for option in own_options(command[end:]):
        if option.startswith(OURS):
            raise Problem(f"--nodes sets the rendezvous itself; leave {option} out of the torchrun command")


def for_node(command: Sequence[str], rank: int, count: int, port: int) -> list[str]:
    """Return the command of node `rank` of `count`: rendezvous options follow the torchrun program."""
    end = program_end(command) or 1
    rendezvous = [
        f"--nnodes={count}",
        f"--node-rank={rank}",
        "--master-addr=127.0.0.1",
        f"--master-port={port}",
    ]
    return [*command[:end], *rendezvous, *command[end:]]


def require_program(command: Sequence[str]) -> None:
    """Raise Problem where the command's program, or the torch that it needs, is not there."""
    program = command[0]
    if shutil.which(program) is None:
        if PurePath(program).name == "torchrun":
            raise Problem(f"command not found: {program}; {INSTALL}")
        raise Problem(f"command not found: {program}; check its name, or give its path")
    if _python(program) and program_end(command) is not None and not _has_torch(program):
        raise Problem(f"{program} has no torch; {INSTALL}")


def _has_torch(python: str) -> bool:
    """Ask an interpreter for torch without importing it; a doubt counts as yes."""
    question = "import importlib.util, sys; sys.exit(3 if importlib.util.find_spec('torch') is None else 0)"
    try:
        return (
            subprocess.run([python, "-c", question], capture_output=True, timeout=20, check=False).returncode
            != 3
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
