"""Replay, and write what was found where it was asked for; progress goes to a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from evenpace.cli._library.output import put_json
from evenpace.cli._replay.text import print_replay
from evenpace.diagnose.retelling import retold
from evenpace.findings import to_builtins
from evenpace.report.output import terminal
from evenpace.simulate.finding import verdict_of
from evenpace.simulate.replay import Progress, Replay, Section, replay
from evenpace.simulate.whatif.analysis import WhatIf
from evenpace.terms import say


def show(path: Path, form: str, lang: str, top: int) -> None:
    """Replay a trace or run and show it; raises Problem."""
    with _progress(lang) as progress:
        found = replay(path, progress)
    if form == "json":
        put_json(as_json(found, lang, top))
    else:
        print_replay(found, terminal(), lang, top)


@contextmanager
def _progress(lang: str) -> Iterator[Progress | None]:
    """Show how much was done, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    console = Console(stderr=True)
    with console.status("") as status:
        yield lambda what, count: status.update(f"{count:,} {say(f'replay-progress-{what}', lang)}")


def as_json(found: Replay, lang: str, top: int) -> dict[str, Any]:
    """Return the page of JSON: findings, and all numbers under `replay`. Times are seconds."""
    told = [retold(finding, lang) for finding in found.findings]
    return to_builtins(told) | {
        "replay": {
            "source": found.source,
            "workers": found.ranks,
            "replicas": found.replicas,
            "stages": found.stages,
            "steps": found.steps,
            "operations": found.operations,
            "left_out": msgspec.to_builtins(found.left_out) | {"unfaithful": found.unfaithful},
            "whatif": [_section(section, lang, top) for section in found.sections],
            "detector": [msgspec.to_builtins(spell) | {"told": spell.told} for spell in found.spells],
            "planner": [msgspec.to_builtins(plan) for plan in found.plans],
            "run": _run(found),
        }
    }


def _section(section: Section, lang: str, top: int) -> dict[str, Any]:
    found = section.whatif
    place = {"incarnation": section.incarnation, "first": section.first, "last": section.last}
    return (
        place
        | {"verdict": verdict_of(found, lang, run=section.incarnation is not None)}
        | _whatif(found, top)
    )


def _whatif(found: WhatIf, top: int) -> dict[str, Any]:
    page: dict[str, Any] = msgspec.to_builtins(found)
    for name in ("workers", "replicas", "stages", "types"):
        page[name] = page[name][:top]
    return page | {"slowdown": found.slowdown, "lost": found.lost, "fidelity": found.fidelity}


def _run(found: Replay) -> dict[str, Any] | None:
    """Return what was said and decided in the run itself; None of a trace."""
    if found.recording is None:
        return None
    said = [
        {
            "id": event.id,
            "incarnation": event.incarnation,
            "iteration": event.iteration,
            "relief": closed.iteration if (closed := found.recording.closed.get(event.id)) else None,
            "fault": event.finding.fault,
            "subject": msgspec.to_builtins(event.finding.subject),
        }
        for event in found.recording.raised.values()
    ]
    decisions = [msgspec.to_builtins(decision) for decision in found.recording.decisions]
    return {"name": found.recording.name, "findings": said, "decisions": decisions}
