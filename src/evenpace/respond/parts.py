"""What a supervisor works with: each part can be another one, as for tests or another cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from evenpace.respond.clock import Clock
from evenpace.respond.interrupts import Interrupts
from evenpace.respond.launchers import Launcher
from evenpace.respond.mirror import Mirror
from evenpace.respond.recorder import Recorder
from evenpace.terms import say
from evenpace.watch.events import WatchDegraded
from evenpace.watch.runfolder import RunFolder

if TYPE_CHECKING:
    from evenpace.respond.mitigation.probes import ProberFactory
    from evenpace.watch.watcher import WatcherFactory


class TapEnvironment(Protocol):
    """What the tap gives: a whole environment, and a line on which tap it brings."""

    @property
    def env(self) -> dict[str, str]:
        """Return the environment."""

    @property
    def note(self) -> str:
        """Return the line."""


class Tap(Protocol):
    """Make the environment of a node's agent (`evenpace.tap.environment.environment`)."""

    def __call__(  # noqa: PLR0913, PLR0917  what the tap takes
        self,
        ring_dir: Path,
        node: str,
        run: str,
        incarnation: int,
        base: Mapping[str, str],
        kind: str = "auto",
    ) -> TapEnvironment:
        """Return `base` plus what starts the tap."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a supervisor. `mirror` is None where the job's output is not shown."""

    folder: RunFolder
    launcher: Launcher
    recorder: Recorder
    watch: WatcherFactory
    tap: Tap
    interrupts: Interrupts
    prober: ProberFactory
    mirror: Mirror | None = None
    clock: Clock = field(default_factory=Clock)
    lang: str = "en"

    def say_degraded(self, incarnation: int, key: str, **details: str) -> None:
        """Record what keeps the watch of an incarnation from seeing, as a phrase with its details."""
        text = say(key, self.lang, **details)
        self.recorder.write(WatchDegraded(time=self.clock.stamp(), incarnation=incarnation, text=text))
