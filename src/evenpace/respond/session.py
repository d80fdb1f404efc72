"""Put the real parts together and run a job, or go on with one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from evenpace.errors import Problem
from evenpace.respond.attach import reload
from evenpace.respond.interrupts import Interrupts
from evenpace.respond.launchers.local import LocalLauncher
from evenpace.respond.mirror import Mirror
from evenpace.respond.mitigation.probes import Prober
from evenpace.respond.parts import Parts
from evenpace.respond.probing import Probing
from evenpace.respond.recorder import Listener, Recorder
from evenpace.respond.supervisor import Supervisor
from evenpace.tap.environment import environment
from evenpace.terms import say
from evenpace.watch.eventlog import EventWriter
from evenpace.watch.events import RunStarted
from evenpace.watch.runfolder import RunFolder
from evenpace.watch.watcher import Watcher


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Who hears of events, who says lines, in which language, and the descriptor for the job's output.

    `output` is None where the output is not shown.
    """

    listeners: tuple[Listener, ...]
    tell: Callable[[str], None]
    lang: str
    output: int | None


def run(job: RunStarted, folder: RunFolder, around: Surroundings) -> int:
    """Run a job to its end; return the exit code for evenpace. Raises Problem where it cannot be started."""
    with _recorder(folder, around) as recorder:
        return _supervise(job, folder, around, recorder, Supervisor.run)


def attach(folder: RunFolder, around: Surroundings) -> int:
    """Go on with a run whose evenpace died; raises Problem where that is impossible."""
    with _recorder(folder, around) as recorder:
        job = reload(folder, recorder, around.lang)
        try:
            os.chdir(job.folder or ".")
        except OSError as error:
            raise Problem(
                f"cannot enter {job.folder}, where the run was started: {error.strerror}"
            ) from error
        return _supervise(job, folder, around, recorder, Supervisor.attach)


def _supervise(
    job: RunStarted,
    folder: RunFolder,
    around: Surroundings,
    recorder: Recorder,
    act: Callable[[Supervisor], int],
) -> int:
    launcher = LocalLauncher(job.command, str(folder.path), emulate=bool(job.nodes))
    started = recorder.ledger.started
    if started is not None:
        launcher.adopt(started.agents)
    mirror = Mirror(around.output) if around.output is not None else None
    try:
        with Interrupts() as interrupts:
            parts = Parts(
                folder,
                launcher,
                recorder,
                Watcher,
                environment,
                interrupts,
                partial(_prober, around.lang),
                mirror=mirror,
                lang=around.lang,
            )
            return act(Supervisor(job, parts))
    finally:
        if mirror:
            mirror.close()
        around.tell(say("say-run-folder", around.lang, folder=folder.shown))


def _prober(lang: str, incarnation: int, rings: Mapping[int, Path], nodes: Mapping[int, str]) -> Prober:
    """Return what measures the workers of an incarnation; its socket lies with their rings."""
    folder = next(iter(rings.values())).parent
    return Probing(rings, folder, incarnation=incarnation, lang=lang, nodes=nodes)


@contextmanager
def _recorder(folder: RunFolder, around: Surroundings) -> Iterator[Recorder]:
    writer = EventWriter(folder.events, around.tell)
    try:
        yield Recorder(writer, around.listeners)
    finally:
        writer.close()
