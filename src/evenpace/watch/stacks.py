"""Where a worker's main thread stood: is it stuck, is it moving, is it in a long phase that is normal."""

from __future__ import annotations

import tomllib
from collections import Counter, deque
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

STUCK_SHAPES = 3  # a loop that goes nowhere shows one to three stacks; a forward pass shows dozens
MOVING_CEILING_S = 120.0
FEWEST = 5  # samples before they say anything about where a thread mostly is
LATEST = 10  # samples that say where a thread mostly is
LOADER_FRAME = "torch/utils/data/"


@dataclass(frozen=True, slots=True)
class Phase:
    """A long phase that is normal, and how many seconds peers may wait for it."""

    name: str
    ceiling: float
    frames: tuple[str, ...]


@dataclass(slots=True)
class StackHistory:
    """Remember sampled stacks: lines of "file:line:function", innermost first."""

    latest: str = ""
    _shapes: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=256))

    def add(self, sampled_ns: int, stack: str) -> None:
        """Take a sample; the same sample twice counts once."""
        if sampled_ns and (not self._shapes or self._shapes[-1][0] != sampled_ns):
            self.latest = stack
            self._shapes.append((sampled_ns, _shape(stack)))

    def stuck_since(self, since_ns: int) -> bool:
        """Tell whether the stacks since then are so few that the thread goes nowhere."""
        return len({shape for at, shape in self._shapes if at >= since_ns}) <= STUCK_SHAPES

    @property
    def phase(self) -> Phase | None:
        """Return the normal long phase in which the thread stands, if it does."""
        lines = _shape(self.latest).lower()
        return next((phase for phase in phases() if any(frame in lines for frame in phase.frames)), None)

    def most_seen(self) -> str:
        """Return the innermost frame in which the thread was seen most; empty where it was never seen."""
        tops = Counter(shape.partition("\n")[0] for _, shape in self._recent())
        return tops.most_common(1)[0][0] if tops else ""

    def mostly_in_loader(self) -> bool:
        """Tell whether most of the latest samples stand in a data loader."""
        seen = [LOADER_FRAME in shape for _, shape in self._recent()]
        return len(seen) >= FEWEST and sum(seen) > len(seen) / 2

    def _recent(self) -> list[tuple[int, str]]:
        return list(self._shapes)[-LATEST:]

    @property
    def in_loader(self) -> bool:
        """Tell whether the thread stands in a data loader."""
        return LOADER_FRAME in self.latest


def _shape(stack: str) -> str:
    """Drop the line numbers: a loop's body has many lines."""
    return "\n".join(f"{line.split(':')[0]}:{line.rpartition(':')[2]}" for line in stack.splitlines())


@cache
def phases() -> tuple[Phase, ...]:
    """Return the phases of phases.toml, most specific first."""
    data = tomllib.loads(files("evenpace.watch").joinpath("phases.toml").read_text(encoding="utf-8"))
    return tuple(Phase(name, float(value["ceiling"]), tuple(value["frames"])) for name, value in data.items())
