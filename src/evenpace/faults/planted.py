"""Plant a fault in a worker: this runs inside the training process, with the standard library alone.

`EVENPACE_FAULT=NAME:rank=R:step=S` in the environment, and this package's `inject` folder on PYTHONPATH,
make the fault NAME happen on rank R when its optimizer has made S steps. The script is not touched. A job
that evenpace has started again is left in peace: a fault happens in incarnation 0 only.
"""

from __future__ import annotations

import importlib.util
import os
import re
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

VARIABLE = "EVENPACE_FAULT"
INJECT = Path(__file__).parent / "inject"
_FORM = re.compile(r"([a-z][a-z-]{0,40}):rank=(\d{1,6}):step=(\d{1,9})")
_OPTIMIZER = "torch.optim.optimizer"


@dataclass(frozen=True)
class Spec:
    """Say which fault happens on which rank after how many optimizer steps."""

    name: str
    rank: int
    step: int

    def __str__(self) -> str:
        return f"{self.name}:rank={self.rank}:step={self.step}"


def parse(text: str) -> Spec:
    """Parse `NAME:rank=R:step=S`; raises ValueError."""
    match = _FORM.fullmatch(text)
    if not match:
        raise ValueError(f"{VARIABLE}={text!r} does not read NAME:rank=R:step=S")
    return Spec(match[1], int(match[2]), int(match[3]))


def environment(spec: Spec, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to add to `environ` so that workers started with them carry the fault."""
    path = environ.get("PYTHONPATH", "")
    return {VARIABLE: str(spec), "PYTHONPATH": f"{INJECT}{os.pathsep}{path}" if path else str(INJECT)}


class Here:
    """What a planted fault sees of the worker that it acts in."""

    def __init__(self, spec: Spec, rank: int, step_seconds: float) -> None:
        self.spec, self.rank = spec, rank
        self.step_seconds = step_seconds  # median of the steps so far
        self.each_step: Callable[[], None] | None = None  # a fault that lasts sets this

    @property
    def victim(self) -> bool:
        """Tell whether this is the rank that the fault is aimed at."""
        return self.rank == self.spec.rank

    @property
    def torch(self) -> Any:
        """Return the torch that the training script imported."""
        return sys.modules["torch"]


class Trigger:
    """Count optimizer steps; act once, when the count is reached. Called by torch after each step."""

    def __init__(self, spec: Spec, fault: ModuleType, rank: Callable[[], int], run: str | None) -> None:
        self.spec, self.fault, self.rank, self.run = spec, fault, rank, run
        self.count, self.last = 0, 0.0
        self.seconds: deque[float] = deque(maxlen=20)
        self.here: Here | None = None

    def __call__(self, *_: object) -> None:
        now = time.monotonic()
        self.count += 1
        if self.last:
            self.seconds.append(now - self.last)
        self.last = now
        if self.count == self.spec.step:
            self._fire()
        elif self.here and self.here.each_step:
            self.here.each_step()

    def _fire(self) -> None:
        here = Here(self.spec, self.rank(), statistics.median(self.seconds) if self.seconds else 0.0)
        if not (here.victim or self.fault.EVERYWHERE):
            return
        if here.victim:
            _ledger().enter(self.run, self.spec.name, here.rank)
        self.here = here
        self.fault.act(here)


class _After(MetaPathFinder):
    """Call `then` with the module `name` once it is imported; leave sys.meta_path before that."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self.name, self.then = name, then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and spec.loader:
            execute, then = spec.loader.exec_module, self.then

            def exec_module(module: ModuleType) -> None:
                execute(module)
                then(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def arm(environ: Mapping[str, str]) -> None:
    """Set the trap that `environ` asks for; raises ValueError or OSError where it asks for nonsense."""
    if environ.get("EVENPACE_INCARNATION", "0") != "0":
        return
    spec = parse(environ[VARIABLE])
    fault = _load(INJECT.parent / "catalog" / f"{spec.name.replace('-', '_')}.py")
    if not hasattr(fault, "act"):
        raise ValueError(f"{spec.name} is no fault that can be planted")
    trigger = Trigger(spec, fault, _rank, environ.get("EVENPACE_RUN"))
    sys.meta_path.insert(0, _After(_OPTIMIZER, lambda module: _hook(module, trigger)))


def _hook(optimizer: Any, trigger: Trigger) -> None:
    optimizer.register_optimizer_step_post_hook(trigger)


def _rank() -> int:
    distributed = sys.modules.get("torch.distributed")
    if distributed and distributed.is_initialized():
        return int(distributed.get_rank())
    return int(os.environ.get("RANK", "0"))


def _ledger() -> ModuleType:
    return _load(INJECT.parent / "ledger.py")


def _load(path: Path) -> ModuleType:
    """Import a file of this package by its path: the worker's Python need not know evenpace."""
    spec = importlib.util.spec_from_file_location(f"_evenpace_fault_{path.stem}", path)
    if not (spec and spec.loader):
        raise ValueError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
