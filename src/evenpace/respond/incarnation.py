"""One incarnation of the job as it runs: its agents and its watcher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evenpace.respond.hearing import Hearing
from evenpace.respond.parts import Parts
from evenpace.watch.events import Event

if TYPE_CHECKING:
    from evenpace.watch.watcher import Watching

POLL = 0.2  # seconds
FRESH = 3  # watchers that may follow one that failed, within an incarnation
SETTLE = 10.0  # seconds for the watcher to explain a job that ended, or an agent that failed


class _Blind:
    """Stand in for a watcher that failed: it sees nothing."""

    def poll(self) -> list[Event]:
        return []

    def agent_exited(self, node: str, exit_code: int | None) -> None:
        """Ignore it."""

    def settled(self) -> bool:
        return True


class Incarnation:
    """Follow agents and watcher. A watcher that fails is replaced, and never ends the training.

    `logs` are the paths of its nodes' logs, by node.
    """

    def __init__(
        self,
        number: int,
        logs: Mapping[str, Path],
        rings: Path,
        watch: Callable[[], Watching],
        parts: Parts,
    ) -> None:
        self.number = number
        self.rings = rings
        self.codes: dict[str, int | None] = {}  # of ended agents, in order; None where it cannot be known
        self._nodes = frozenset(logs)
        self._watch = watch
        self._parts = parts
        self._hearing = Hearing(number, logs, parts)
        self._replaced = 0
        self._watcher = self._fresh()
        self._failed_at: float | None = None

    @property
    def ended(self) -> bool:
        """Tell whether all agents have ended."""
        return self._nodes <= self.codes.keys()

    @property
    def exit_code(self) -> int:
        """Return the job's exit code: of the agent that failed first; 128 + n for signal n.

        The code of an earlier evenpace's agent is unknown: then the log tells, or how the workers ended.
        """
        code = next((code for code in self.codes.values() if code), 0)
        if code:
            return 128 - code if code < 0 else code
        return self._logged_code() if None in self.codes.values() else 0

    @property
    def unknown(self) -> bool:
        """Tell whether nobody knows how the job ended: adopted agents, and workers without a word."""
        ledger = self._parts.recorder.ledger
        return (
            None in self.codes.values() and ledger.ended is None and len(ledger.exits) < max(1, ledger.joined)
        )

    def _logged_code(self) -> int:
        ledger = self._parts.recorder.ledger
        if ledger.ended is None:
            return int(any(end.how != "clean" or end.code for end in ledger.exits))
        code = ledger.ended.exit_code
        return int(ledger.ended.outcome != "finished") if code is None else code

    @property
    def overdue(self) -> bool:
        """Tell whether an agent failed so long ago that nobody will explain it any more."""
        return self._failed_at is not None and self._parts.clock.monotonic() - self._failed_at >= SETTLE

    def look(self) -> None:
        """Take in what the launcher and the watcher know that is new."""
        for gone in self._parts.launcher.poll():
            self.codes[gone.node] = gone.code
            if gone.code and self._failed_at is None:
                self._failed_at = self._parts.clock.monotonic()
            self._guard(partial(self._watcher.agent_exited, gone.node, gone.code))
        self._guard(self._take)

    def settle(self) -> None:
        """Wait until the watcher has judged the end of every worker, but not for long."""
        deadline = self._parts.clock.monotonic() + SETTLE
        while not self._settled() and self._parts.clock.monotonic() < deadline:
            self._parts.clock.sleep(POLL)
            self.look()

    def _settled(self) -> bool:
        answers: list[bool] = []
        self._guard(lambda: answers.append(self._watcher.settled()))
        return any(answers)

    def _take(self) -> None:
        for event in self._watcher.poll():
            self._parts.recorder.write_watched(self._hearing.complete(event))

    def _guard(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:
            self._replace(f"{type(error).__name__}: {error}")

    def _replace(self, error: str) -> None:
        """Go on with a fresh watcher, which reads the rings from their start; after too many, with none."""
        self._replaced += 1
        blind = self._replaced > FRESH
        key = "degraded-watch-failed" if blind else "degraded-watch-anew"
        self._parts.say_degraded(self.number, key, error=error)
        self._watcher = _Blind() if blind else self._fresh()
        for node, code in self.codes.items():
            self._guard(partial(self._watcher.agent_exited, node, code))

    def _fresh(self) -> Watching:
        self._parts.recorder.watched_anew()
        return self._watch()
