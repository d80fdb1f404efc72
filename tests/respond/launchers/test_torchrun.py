from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evenpace.errors import Problem
from evenpace.respond.launchers.torchrun import for_node, own_options, require_multinode, require_program

OURS = ["--nnodes=3", "--node-rank=1", "--master-addr=127.0.0.1", "--master-port=1234"]


@pytest.mark.parametrize(
    ("program", "rest"),
    [
        (["torchrun"], ["--nproc-per-node=2", "train.py"]),
        (["/opt/bin/torchrun"], ["train.py", "--nnodes", "5"]),
        (["python", "-m", "torch.distributed.run"], ["-m", "pkg.train"]),
        (["python3.11", "-u", "-m", "torch.distributed.launch"], ["train.py"]),
        (["/usr/bin/python3", "/opt/bin/torchrun"], ["train.py"]),
    ],
)
def test_the_rendezvous_follows_the_program(program: list[str], rest: list[str]) -> None:
    require_multinode([*program, *rest])
    assert for_node([*program, *rest], 1, 3, 1234) == [*program, *OURS, *rest]


@pytest.mark.parametrize(
    "command",
    [["python", "train.py"], ["bash", "torchrun"], ["python", "-m", "pkg"], ["python", "-m"], ["python"]],
)
def test_other_programs_cannot_be_nodes(command: list[str]) -> None:
    with pytest.raises(Problem, match="begin it with torchrun"):
        require_multinode(command)


@pytest.mark.parametrize(
    "option",
    ["--nnodes=2", "--node_rank", "--node-rank=1", "--rdzv-backend=c10d", "--rdzv_endpoint", "--master_port",
     "--standalone", "--nnode"],
)  # fmt: skip
def test_a_rendezvous_of_its_own_is_refused(option: str) -> None:
    with pytest.raises(Problem, match="leave --"):
        require_multinode(["torchrun", "--nproc-per-node", "2", option, "2", "train.py"])


def test_the_options_of_the_script_are_its_own() -> None:
    words = ["--nproc_per_node", "4", "--no-python", "--max-restarts=1", "train", "--rdzv-backend", "x"]
    assert own_options(words) == ["--nproc-per-node", "--no-python", "--max-restarts"]


def test_a_missing_program_is_named() -> None:
    with pytest.raises(Problem, match="command not found: no-such-program"):
        require_program(["no-such-program"])


def test_a_missing_torchrun_says_how_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Problem, match="pip install torch"):
        require_program(["torchrun", "x.py"])


def test_a_python_without_torch_says_how_to_install(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    python.chmod(0o755)
    with pytest.raises(Problem, match="has no torch"):
        require_program([str(python), "-m", "torch.distributed.run", "x.py"])
    require_program([str(python), "x.py"])
