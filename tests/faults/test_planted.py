"""Planting: what the environment says, when the fault fires, and that the chain of sitecustomize holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.faults import ledger, planted
from evenpace.faults.planted import Here, Spec, Trigger

NAMES = st.from_regex(r"[a-z][a-z-]{0,40}", fullmatch=True)


@given(NAMES, st.integers(0, 999_999), st.integers(0, 999_999_999))
def test_a_spec_survives_the_environment(name: str, rank: int, step: int) -> None:
    spec = Spec(name, rank, step)
    assert planted.parse(str(spec)) == spec


@given(st.text(max_size=60))
def test_any_other_text_is_refused(text: str) -> None:
    try:
        spec = planted.parse(text)
    except ValueError:
        return
    assert planted.parse(str(spec)) == spec


def test_the_environment_keeps_the_users_path() -> None:
    added = planted.environment(Spec("hang-loop", 2, 30), {"PYTHONPATH": "/mine"})
    assert added == {
        "EVENPACE_FAULT": "hang-loop:rank=2:step=30",
        "PYTHONPATH": f"{planted.INJECT}{os.pathsep}/mine",
    }


class Recorder(SimpleNamespace):
    """A fault that notes where it acted."""

    def __init__(self, everywhere: bool) -> None:
        super().__init__(EVERYWHERE=everywhere, acted=[])

    def act(self, here: Here) -> None:
        self.acted.append((here.rank, here.victim))


@pytest.mark.parametrize(
    ("rank", "everywhere", "acted"),
    [(1, False, [(1, True)]), (0, False, []), (0, True, [(0, False)]), (1, True, [(1, True)])],
)
def test_it_fires_once_at_its_step_on_its_rank(
    rank: int, everywhere: bool, acted: list[tuple[int, bool]], tmp_path: Path
) -> None:
    fault = Recorder(everywhere)
    trigger = Trigger(Spec("some", 1, 3), fault, lambda: rank, str(tmp_path))  # type: ignore[arg-type]
    for _ in range(2):
        trigger(object(), (), {})
    assert fault.acted == []
    for _ in range(5):
        trigger(object(), (), {})
    assert fault.acted == acted
    assert [entry["rank"] for entry in ledger.read(tmp_path)] == [1] * (rank == 1)


def test_a_lasting_fault_is_called_at_each_later_step() -> None:
    calls: list[int] = []

    def act(here: Here) -> None:
        here.each_step = lambda: calls.append(here.rank)

    fault = SimpleNamespace(EVERYWHERE=False, act=act)
    trigger = Trigger(Spec("some", 0, 2), fault, lambda: 0, None)  # type: ignore[arg-type]
    for _ in range(5):
        trigger()
    assert calls == [0, 0, 0]


def python(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_users_own_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine')")
    done = python("print('script')", PYTHONPATH=f"{planted.INJECT}{os.pathsep}{tmp_path}")
    assert (done.stdout, done.stderr, done.returncode) == ("mine\nscript\n", "", 0)


@pytest.mark.parametrize("text", ["nonsense", "no-such-fault:rank=0:step=1", "slow:rank=0:step=1"])
def test_nonsense_is_said_and_changes_nothing(text: str) -> None:
    done = python("print('script')", PYTHONPATH=str(planted.INJECT), EVENPACE_FAULT=text)
    assert done.stdout == "script\n"
    assert done.stderr.startswith("evenpace faults: nothing planted: ")
    assert done.stderr.count("\n") == 1


FAKE_TORCH = """
HOOKS = []
def register_optimizer_step_post_hook(hook):
    HOOKS.append(hook)
"""


@pytest.mark.parametrize(("incarnation", "code"), [("0", 1), ("1", 0)])
def test_it_reaches_a_script_that_knows_nothing(tmp_path: Path, incarnation: str, code: int) -> None:
    package = tmp_path / "torch" / "optim"
    package.mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "optimizer.py").write_text(FAKE_TORCH)
    script = (
        "from torch.optim.optimizer import HOOKS\nfor _ in range(3): [hook(None, (), {}) for hook in HOOKS]"
    )
    added = planted.environment(Spec("crash-exception", 1, 2), {"PYTHONPATH": str(tmp_path)})
    run = tmp_path / "run"
    run.mkdir()
    done = python(script, **added, RANK="1", EVENPACE_RUN=str(run), EVENPACE_INCARNATION=incarnation)
    assert done.returncode == code
    assert ("unreadable sample on rank 1" in done.stderr) == bool(code)
    entries = (run / "faults.jsonl").read_text().splitlines() if code else []
    assert [json.loads(line)["fault"] for line in entries] == ["crash-exception"] * code
