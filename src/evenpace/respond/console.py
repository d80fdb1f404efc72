"""Say on the terminal what happens to a run: one short line for each event that a person wants to know."""

from __future__ import annotations

from collections.abc import Callable

from evenpace.findings import Finding
from evenpace.respond.telling import figures, strategy, told
from evenpace.terms import label, phrases, say
from evenpace.watch.events import (
    Adapted,
    CheckpointSkipped,
    Decision,
    Event,
    FindingRaised,
    IncarnationStarted,
    Narrowed,
    Probed,
    WatchAttached,
    WatchDegraded,
    WorkerJoined,
)


class Console:
    """Hand a line to `tell` (`Voice.say`) for each event that is worth one."""

    def __init__(self, tell: Callable[[str], None], lang: str) -> None:
        self._tell = tell
        self._lang = lang
        self._said: dict[int, str] = {}
        self._nodes: dict[int, str] = {}  # by rank

    def __call__(self, event: Event) -> None:
        """Say what an event means, if it is worth a line."""
        if text := self._line(event):
            self._tell(text)

    def _line(self, event: Event) -> str:
        text = ""
        match event:
            case FindingRaised():
                text = self._finding(event)
            case Decision():
                text = self._decision(event)
            case IncarnationStarted() if event.incarnation:
                text = self._say("say-started", incarnation=event.incarnation, nodes=", ".join(event.agents))
            case CheckpointSkipped():
                key = "say-moved" if event.moved_to else "say-skipped"
                text = self._say(key, path=event.path, reason=event.reason, moved_to=event.moved_to)
            case WorkerJoined():
                self._nodes[event.rank] = event.node
            case Narrowed() | Probed() | Adapted():
                text = told(event, lambda rank: self._nodes.get(rank, ""), self._lang)
            case WatchAttached():
                text = self._say("say-attached", incarnation=event.incarnation)
            case WatchDegraded():
                text = event.text
        return text

    def _say(self, key: str, **details: object) -> str:
        return say(key, self._lang, **details)

    def _finding(self, event: FindingRaised) -> str:
        summary = self._summary(event.finding)
        if self._said.get(event.id) == summary:
            return ""
        self._said[event.id] = summary
        return self._say(
            "say-finding", fault=label("fault", event.finding.fault, self._lang), summary=summary
        )

    def _summary(self, finding: Finding) -> str:
        if finding.phrase is None or finding.phrase in phrases():
            return finding.sentence(self._lang)
        from evenpace.diagnose.retelling import named  # heavy, and only for what a log has said

        return named(finding, self._lang)

    def _decision(self, event: Decision) -> str:
        if event.action == "none":
            return ""
        numbers = figures(event, self._lang)
        return self._say(
            f"say-{event.action}",
            reason=event.reason,
            origin=self._origin(event),
            policy=event.policy,
            strategy=strategy(event.strategy, self._lang),
            figures=self._say("say-figures", figures=numbers) if numbers else "",
        )

    def _origin(self, event: Decision) -> str:
        if event.checkpoint is None:
            return self._say("origin-script")
        key = "origin-checkpoint" if event.step is not None else "origin-checkpoint-unnumbered"
        return self._say(key, path=event.checkpoint, step=event.step)
