"""Replay a recorded trace or run: what-if analysis, today's detector, the planner, and what they found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenpace.errors import Problem
from evenpace.findings import Finding
from evenpace.simulate.detecting import Spell, samples_of, watch, workers_of
from evenpace.simulate.finding import of_spells, of_whatif
from evenpace.simulate.planning import Plan, plans, plans_of
from evenpace.simulate.traces.csv import read_csv
from evenpace.simulate.traces.model import Ints, Trace
from evenpace.simulate.traces.parquet import read_parquet
from evenpace.simulate.traces.runs import Recording, Stretch, read_run
from evenpace.simulate.whatif.analysis import WhatIf, analyse
from evenpace.simulate.whatif.graph import graph_of
from evenpace.simulate.whatif.grid import Grid, LeftOut, grid_of
from evenpace.simulate.whatif.iterations import grid_of_iterations
from evenpace.simulate.whatif.replay import transfers

WARM_UP = 3  # first iterations of a stretch, left out
FEWEST = 10  # iterations of which a what-if analysis says anything
FAITHFUL = (0.85, 1.15)  # replayed to recorded time, within which a what-if of a run is believed
MOST_SECTIONS = 16
MOST_CELLS = 200_000  # iterations times ranks of a section: of a longer stretch, its last ones
HEALTHY = 40  # iterations before a slowness, with which it is compared

Progress = Callable[[str, int], None]  # what (operations, events, scenarios), and how many so far


@dataclass(frozen=True, slots=True)
class Section:
    """A what-if analysis of some steps: from `first` to `last`, of an incarnation where it is a run's."""

    first: int
    last: int
    incarnation: int | None
    whatif: WhatIf


@dataclass(frozen=True, slots=True)
class Replay:
    """All that was found. `recording` only of a run."""

    source: str
    ranks: int
    replicas: int
    stages: int
    steps: int
    operations: int
    left_out: LeftOut
    sections: tuple[Section, ...]
    spells: tuple[Spell, ...]
    plans: tuple[Plan, ...]
    recording: Recording | None
    unfaithful: int  # sections whose replay does not reproduce the recording
    findings: tuple[Finding, ...]


def replay(path: Path, progress: Progress | None = None) -> Replay:
    """Replay a trace (CSV, gzipped CSV, Parquet), the folder of a run or its event log; raises Problem."""
    log = path / "events.jsonl" if path.is_dir() else path
    if not log.exists():
        what = "a run: it has no events.jsonl" if path.is_dir() else "there"
        raise Problem(f"{path} is not {what}; give a trace (.csv, .csv.gz, .parquet) or the folder of a run")
    if log.suffix == ".jsonl":
        return _of_run(log, progress)
    return _of_trace(log, _read(log, _counter(progress, "operations")), progress)


def _counter(progress: Progress | None, what: str) -> Callable[[int], None] | None:
    return None if progress is None else lambda count: progress(what, count)


def _read(path: Path, progress: Callable[[int], None] | None) -> Trace:
    if path.name.endswith((".csv", ".csv.gz")):
        return read_csv(path, progress)
    if path.suffix == ".parquet":
        return read_parquet(path, progress)
    raise Problem(f"{path} is no trace by its name; give a .csv, .csv.gz or .parquet, or the folder of a run")


def _of_trace(path: Path, trace: Trace, progress: Progress | None) -> Replay:
    grid = grid_of(trace)
    graph = graph_of(grid)
    cost = transfers(graph, grid.start, grid.duration)
    ranks, roles = workers_of(grid)
    spells = [
        _by_step(one, grid.steps.tolist()) for one in watch(samples_of(grid, graph, cost), ranks, roles, {})
    ]
    sections = [
        Section(int(one.steps[0]), int(one.steps[-1]), None, analyse(one, _counter(progress, "scenarios")))
        for one in [grid, *_slow_steps(grid, spells)]
    ]
    return Replay(
        source=str(path),
        ranks=len(ranks),
        replicas=len(grid.replicas),
        stages=len(grid.stages),
        steps=len(grid.steps),
        operations=len(trace),
        left_out=grid.left_out,
        sections=tuple(sections),
        spells=tuple(spells),
        plans=tuple(plans(grid, cost, sections[0].whatif)),
        recording=None,
        unfaithful=0,
        findings=tuple(_found(sections, str(path), one_stage=len(grid.stages) == 1)),
    )


def _slow_steps(grid: Grid, spells: list[Spell]) -> list[Grid]:
    """Return the steps of each slowness that began within the trace: over all of it, it may drown."""
    told = [spell for spell in spells if spell.told and not spell.from_start]
    under = [np.isin(np.arange(len(grid.steps)), _under(grid.steps, spell)) for spell in told]
    return [grid.at(steps) for steps in under if FEWEST <= steps.sum() < len(grid.steps)][:MOST_SECTIONS]


def _found(sections: list[Section], source: str, *, one_stage: bool) -> list[Finding]:
    """Return what the sections say, who is accused first; that nobody is only where that is all."""
    found = [one for section in sections for one in of_whatif(section.whatif, source, one_stage=one_stage)]
    found.sort(key=lambda one: not one.names_culprit)
    accused = [one for one in found if one.names_culprit]
    return [one for one in found if not accused or one.phrase != "replay-nobody"]


def _by_step(spell: Spell, steps: list[int]) -> Spell:
    """Say a spell by the numbers of steps, which a trace need not hold all of."""
    spell.onset, spell.decided = steps[spell.onset], steps[spell.decided]
    spell.relief = None if spell.relief is None else steps[spell.relief]
    return spell


def _of_run(log: Path, progress: Progress | None) -> Replay:
    recording = read_run(log, _counter(progress, "events"))
    spells: list[Spell] = []
    sections: list[Section] = []
    planned: list[Plan] = []
    unfaithful = 0
    for stretch in recording.stretches:
        own = watch(stretch.samples(), stretch.ranks, stretch.roles, stretch.nodes, stretch.incarnation)
        spells += own
        planned += [plan for spell in own if spell.told for plan in _weigh(stretch, spell, recording)]
        for first, last in _ranges(stretch, [one for one in own if one.told]):
            section = _section(stretch, first, last, progress)
            if section is None:
                unfaithful += 1
            elif len(sections) < MOST_SECTIONS:
                sections.append(section)
    ranks = {rank for stretch in recording.stretches for rank in stretch.ranks}
    return Replay(
        source=str(log),
        ranks=len(ranks),
        replicas=len(ranks),
        stages=1,
        steps=sum(len(stretch) for stretch in recording.stretches),
        operations=0,
        left_out=LeftOut(),
        sections=tuple(sections),
        spells=tuple(spells),
        plans=tuple(planned),
        recording=recording,
        unfaithful=unfaithful,
        findings=tuple(of_spells(spells, recording, str(log))),
    )


def _ranges(stretch: Stretch, spells: list[Spell]) -> list[tuple[int, int]]:
    """Return the iterations to analyse by place: each slowness by itself, or all where there is none."""
    numbers = stretch.numbers()
    found = []
    for spell in spells:
        inside = _under(numbers, spell)
        if len(inside) >= FEWEST:
            found.append((int(inside[0]), int(inside[-1])))
    if spells or len(stretch) < FEWEST + WARM_UP:
        return found
    return [(WARM_UP, len(stretch) - 1)]


def _under(numbers: Ints, spell: Spell) -> Ints:
    """Return the places of a slowness's iterations."""
    last = np.inf if spell.relief is None else spell.relief
    return np.flatnonzero((numbers >= spell.onset) & (numbers < last))


def _weigh(stretch: Stretch, spell: Spell, recording: Recording) -> list[Plan]:
    """Count what a slowness cost (into `spell`), and weigh a restart where the log holds its price."""
    durations = np.median(stretch.arrays()[0], axis=1)
    inside = _under(stretch.numbers(), spell)
    before = durations[WARM_UP : inside[0]][-HEALTHY:] if len(inside) else durations[:0]
    if len(before) < FEWEST:
        return []
    healthy, now = float(np.median(before)), float(np.median(durations[inside]))
    spell.lost = max(0.0, float((durations[inside] - healthy).sum()))
    costs = [decision.costs["restart"] for decision in recording.decisions if "restart" in decision.costs]
    if not costs or now <= healthy:
        return []
    return plans_of(spell, stretch.ranks, (healthy, now, len(inside)), costs[-1])


def _section(stretch: Stretch, first: int, last: int, progress: Progress | None) -> Section | None:
    """Analyse some iterations of a stretch; None where a replay of them cannot be believed."""
    if stretch.pipeline:
        return None
    most = max(FEWEST, MOST_CELLS // len(stretch.ranks))
    picked = slice(max(first, last + 1 - most), last + 1)
    numbers = stretch.numbers()[picked]
    durations, busy, _, transfer = (one[picked] for one in stretch.arrays())
    ranks = np.array(stretch.ranks, dtype=np.int64)
    grid = grid_of_iterations(ranks, numbers, durations, busy, transfer)
    found = analyse(grid, _counter(progress, "scenarios"))
    if not FAITHFUL[0] <= found.fidelity <= FAITHFUL[1]:
        return None
    return Section(int(numbers[0]), int(numbers[-1]), stretch.incarnation, found)
