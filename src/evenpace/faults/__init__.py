"""Real faults for real processes: for tests, the demo and drills. One file a fault in `catalog/`.

A fault's file says what verdict is right (`FAULTS`: slugs of the vocabulary; `CULPRIT`: whether the victim
may be named) and does it: `inject(target)` from outside, on a running worker, as a context manager that
reverts on exit; or `act(here)` inside a worker, planted at launch through the environment (see `planted`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from types import ModuleType

from evenpace.errors import Problem
from evenpace.faults.target import Target
from evenpace.terms import say

_CATALOG = Path(__file__).parent / "catalog"


@dataclass(frozen=True)
class Fault:
    """Hold one fault of the catalog."""

    name: str

    @cached_property
    def module(self) -> ModuleType:
        """Import the fault's file."""
        return importlib.import_module(f"{__name__}.catalog.{self.name.replace('-', '_')}")

    @property
    def slugs(self) -> tuple[str, ...]:
        """Return the faults of the vocabulary that are right to say."""
        slugs: tuple[str, ...] = self.module.FAULTS
        return slugs

    @property
    def culprit(self) -> bool:
        """Tell whether the victim is to be named; where not, naming anybody is wrong."""
        return bool(self.module.CULPRIT)

    @property
    def planted(self) -> bool:
        """Tell whether the fault is planted at launch; else it is injected into a running worker."""
        return hasattr(self.module, "act")

    def describe(self, lang: str = "en") -> str:
        """Return one sentence that says what the fault does."""
        return say(f"faults-{self.name}", lang)

    def inject(self, target: Target) -> AbstractContextManager[None]:
        """Return a context manager: the fault begins on entry and is reverted on exit; raises Problem."""
        if self.planted:
            raise Problem(
                f"{self.name} acts inside a worker: plant it at launch (evenpace faults plant {self.name})"
            )
        inject: Callable[[Target], AbstractContextManager[None]] = self.module.inject
        return inject(target)


def names() -> list[str]:
    """Return the names of all faults, in order."""
    files = (path.stem for path in _CATALOG.glob("*.py") if not path.stem.startswith("_"))
    return sorted(stem.replace("_", "-") for stem in files)


def find(name: str) -> Fault:
    """Return the fault of that name; raises Problem, with the nearest name."""
    known = names()
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}"
        raise Problem(f"no fault {name!r}; {hint}")
    return Fault(name)
