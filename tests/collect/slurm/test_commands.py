"""The one door to Slurm's commands: what goes through it, and what it does with commands that misbehave."""

from __future__ import annotations

import ast
import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evenpace.collect.slurm import commands
from evenpace.collect.slurm.commands import COMMANDS, NotRead, run
from evenpace.collect.snapshot import Why

# Programs and their verbs that print only; `scontrol` alone would be a shell with `update` in it.
READING = {"scontrol": {"show"}, "squeue": set[str](), "sacct": set[str](), "sacctmgr": {"show"}}
CHANGING = {"update", "create", "delete", "add", "modify", "remove", "requeue", "hold", "release", "suspend"}
CHANGING |= {
    "resume",
    "reboot",
    "shutdown",
    "reconfigure",
    "takeover",
    "setdebug",
    "write",
    "cancel",
    "token",
}


def test_only_printing_commands_are_there() -> None:
    for program, *arguments in COMMANDS.values():
        verbs = {one for one in arguments if not one.startswith("-")}
        assert set(arguments) & CHANGING == set()
        assert not READING[program] or verbs & READING[program]


def test_a_process_is_started_in_one_place_and_from_the_list_alone() -> None:
    tree = ast.parse(Path(commands.__file__).read_text("utf-8"))
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "Popen"]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.func in uses]
    assert len(calls) == 1
    assert len(uses) - 1 == ast.unparse(tree).count("subprocess.Popen[bytes]")  # annotations
    assert ast.unparse(calls[0].args[0]) == "command"
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    values = [ast.unparse(node.value) for node in assigned if ast.unparse(node.targets[0]) == "command"]
    assert values == ["COMMANDS[asked]"]
    others = {"run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"}
    assert [
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in others
    ] == []
    assert [k.arg for k in calls[0].keywords if k.arg in {"shell", "executable", "preexec_fn"}] == []


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Return a function that puts a text in the place of `scontrol` and gives the environment for it."""

    def place(text: str) -> dict[str, str]:
        path = tmp_path / "scontrol"
        path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        path.chmod(0o755)
        return {
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "SQUEUE_FORMAT": "%i",
            "TZ": "Asia/Seoul",
        }

    return place


def test_the_environment_is_trimmed_and_times_are_utc(program: Callable[[str], dict[str, str]]) -> None:
    told = run("config", 20, environment=program("env")).decode()
    names = {line.partition("=")[0] for line in told.splitlines()}
    assert "TZ=UTC" in told.splitlines()
    assert "SQUEUE_FORMAT" not in names


def test_a_command_that_hangs_is_ended(program: Callable[[str], dict[str, str]]) -> None:
    ticks = itertools.chain([0.0, 0.0], itertools.repeat(60.0))
    with pytest.raises(NotRead) as error:
        run("config", 10, environment=program("exec sleep 600"), clock=lambda: next(ticks))
    assert error.value.reason.why is Why.TIMEOUT


def test_a_command_that_closes_its_output_and_hangs_is_ended(
    program: Callable[[str], dict[str, str]],
) -> None:
    with pytest.raises(NotRead) as error:
        run("config", 0.3, environment=program("exec sleep 600 >/dev/null 2>&1"))
    assert error.value.reason.why is Why.TIMEOUT


def test_an_endless_answer_is_cut(program: Callable[[str], dict[str, str]]) -> None:
    with pytest.raises(NotRead) as error:
        run("config", 60, largest=1 << 20, environment=program("exec yes"))
    assert error.value.reason.why is Why.TOO_LARGE


def test_endless_errors_take_no_memory(program: Callable[[str], dict[str, str]]) -> None:
    text = "head -c 3000000 /dev/zero >&2; echo Permission denied; exit 1"
    with pytest.raises(NotRead) as error:
        run("config", 60, environment=program(text))
    assert len(error.value.reason.detail) <= 200


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo 'slurm_load_node: Access/permission denied' >&2; exit 1", Why.FORBIDDEN),
        ("echo 'Slurm accounting storage is disabled' >&2; exit 1", Why.ABSENT),
        ("echo 'scontrol: error: No topology information available' >&2", Why.ABSENT),
        ("echo 'fatal: Could not establish a configuration source' >&2; exit 1", Why.ABSENT),
        ("echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1", Why.FAILED),
        ("kill -9 $$", Why.FAILED),
    ],
)
def test_errors_are_told_apart(text: str, why: Why, program: Callable[[str], dict[str, str]]) -> None:
    with pytest.raises(NotRead) as error:
        run("config", 20, environment=program(text))
    assert error.value.reason.why is why
    assert error.value.reason.what == "scontrol show config"


def test_a_command_that_is_not_installed_or_not_allowed_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(NotRead) as error:
        run("config", 20, environment={"PATH": str(tmp_path)})
    assert error.value.reason.why is Why.FAILED


def test_warnings_beside_an_answer_do_not_hide_it(program: Callable[[str], dict[str, str]]) -> None:
    assert run("config", 20, environment=program("echo warning >&2; echo A = b")) == b"A = b\n"
