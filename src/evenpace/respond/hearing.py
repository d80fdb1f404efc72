"""Hear the node logs of a crash before its finding is recorded. A failure here costs that and no more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from evenpace.findings import Finding
from evenpace.respond.parts import Parts
from evenpace.watch.events import Event, FindingRaised


class Hearing:
    """Complete the findings of one incarnation's crash from the logs of its nodes."""

    def __init__(self, number: int, logs: Mapping[str, Path], parts: Parts) -> None:
        self._number = number
        self._logs = dict(logs)
        self._parts = parts

    def complete(self, event: Event) -> Event:
        """Return the event; that of a crash says what the logs say, too. Never raises."""
        if not isinstance(event, FindingRaised) or not _is_crash(event.finding):
            return event
        try:
            return self._completed(event)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            self._parts.say_degraded(self._number, "degraded-logs-undiagnosed", error=reason)
            return event

    def _completed(self, event: FindingRaised) -> FindingRaised:
        from evenpace.respond.accord import completed  # heavy, and not needed before something fails
        from evenpace.respond.nodelogs import case_of
        from evenpace.respond.placing import Crew

        crew = Crew(self._parts.recorder.ledger.workers, self._logs)
        case = case_of(self._logs.values(), event.finding)
        return replace(event, finding=completed(event.finding, case, crew))


def _is_crash(finding: Finding) -> bool:
    phrase = finding.phrase or ""
    return phrase == "node-lost" or phrase.startswith("crash-")
