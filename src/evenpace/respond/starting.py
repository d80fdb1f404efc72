"""Start one incarnation of the job: rings, and the log and environment of each node's agent."""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec.structs import replace

from evenpace.respond.checkpoints import Checkpoint
from evenpace.respond.launchers import NodeStart
from evenpace.respond.parts import Parts, TapEnvironment
from evenpace.watch.events import IncarnationStarted, RunStarted


def start(number: int, checkpoint: Checkpoint | None, job: RunStarted, parts: Parts) -> IncarnationStarted:
    """Start and record incarnation `number`; raises Problem where that fails."""
    nodes, run = parts.recorder.ledger.nodes, str(parts.folder.path)
    rings, logs = parts.folder.rings(number, len(nodes)), parts.folder.logs(number, nodes)
    taps = {node: parts.tap(rings, node, run, number, os.environ, job.tap) for node in nodes}
    starts = [
        NodeStart(node, _environment(tap, _ours(run, node, number, checkpoint)), logs[node])
        for node, tap in taps.items()
    ]
    agents = parts.launcher.start(starts)
    event = IncarnationStarted(time=parts.clock.stamp(), incarnation=number, agents=agents, rings=str(rings))
    if checkpoint:
        event = replace(event, checkpoint=str(checkpoint.path), step=checkpoint.step)
    parts.recorder.write(event)
    _say_what_is_missing(number, taps.values(), parts)
    return event


def _environment(tap: TapEnvironment, ours: dict[str, str]) -> dict[str, str]:
    # Output goes to a file: without this a killed worker takes its last lines with it.
    return {"PYTHONUNBUFFERED": "1", **tap.env, **ours}


def _ours(run: str, node: str, number: int, checkpoint: Checkpoint | None) -> dict[str, str]:
    ours = {"EVENPACE_RUN": run, "EVENPACE_NODE": node, "EVENPACE_INCARNATION": str(number)}
    return {**ours, "EVENPACE_CHECKPOINT": str(checkpoint.path)} if checkpoint else ours


def _say_what_is_missing(number: int, taps: Iterable[TapEnvironment], parts: Parts) -> None:
    """Say, at the first start, that workers have not the native tap, and which logs are not written."""
    notes = dict.fromkeys(tap.note for tap in taps if tap.env.get("EVENPACE_TAP") != "native")
    for note in () if number else notes:
        parts.say_degraded(number, "degraded-tap", note=note)
    for node, reason in parts.launcher.unlogged.items():
        parts.say_degraded(number, "degraded-log", node=node, reason=reason)
