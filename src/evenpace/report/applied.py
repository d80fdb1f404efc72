"""Which strategy was in force when, and for which finding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from evenpace.report.story import Story
from evenpace.watch.events import Adapted


@dataclass(frozen=True, slots=True)
class Application:
    """A strategy in force from `start` to `end` (seconds since the epoch), and from `step` to `end_step`.

    `end` is None while it is in force; `end_step` also where the incarnation ended under it. `pause` is what
    training stood still for applying it and for taking it back, in seconds.
    """

    strategy: str
    incarnation: int
    start: float
    step: int
    pause: float
    counts: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    finding: int | None = None
    end: float | None = None
    end_step: int | None = None


def applications(story: Story) -> list[Application]:
    """Return what was applied, in order; another plan of the same strategy is another application."""
    if "applications" not in story.memo:
        story.memo["applications"] = _applications(story)
    found: list[Application] = story.memo["applications"]
    return found


def _applications(story: Story) -> list[Application]:
    done: list[Application] = []
    in_force: dict[tuple[int, str], Application] = {}
    for at, event in sorted(story.adapted, key=lambda entry: entry[0]):
        if event.failed:
            continue
        key = (event.incarnation, event.strategy)
        if (before := in_force.pop(key, None)) is not None:
            pause = before.pause + (event.pause if event.action == "revert" else 0.0)
            done.append(replace(before, end=at, end_step=event.step, pause=pause))
        if event.action == "apply":
            in_force[key] = _begun(story, at, event)
    done += [_left(story, one) for one in in_force.values()]
    return sorted(done, key=lambda one: one.start)


def _begun(story: Story, at: float, event: Adapted) -> Application:
    return Application(
        event.strategy,
        event.incarnation,
        at,
        event.step,
        event.pause,
        tuple(event.counts),
        tuple(event.positions),
        _finding(story, at, event),
    )


def _left(story: Story, one: Application) -> Application:
    """Return what was never taken back: it ended with its incarnation, if that has ended."""
    incarnation = story.incarnations.get(one.incarnation)
    return replace(one, end=incarnation.ended if incarnation else None)


def _finding(story: Story, at: float, event: Adapted) -> int | None:
    """Return the finding that the strategy was for: by the last decision for it, else the last one open."""
    decided = [
        (time, decision.finding)
        for time, decision in story.decisions
        if (decision.action, decision.strategy) == ("adapt", event.strategy)
        and decision.incarnation == event.incarnation
        and time <= at
    ]
    if decided:
        return max(decided, key=lambda entry: entry[0])[1]
    raised = [one for one in story.findings.values() if one.onset <= at < (one.closed or at + 1.0)]
    return max(raised, key=lambda one: one.onset).id if raised else None


def stretches(plans: Iterable[Application]) -> list[tuple[Application, ...]]:
    """Join plans of one strategy that follow each other without a break, in the order of their begin."""
    found: list[list[Application]] = []
    for one in plans:
        open_ends = [run for run in found if _follows(run[-1], one)]
        if open_ends:
            open_ends[-1].append(one)
        else:
            found.append([one])
    return [tuple(run) for run in found]


def _follows(before: Application, one: Application) -> bool:
    where = (before.strategy, before.incarnation, before.end_step)
    return where == (one.strategy, one.incarnation, one.step)


def pauses(story: Story, incarnation: int) -> Iterator[tuple[float, float]]:
    """Yield when training had stood still for evenpace, and for how many seconds."""
    stood = [(at, one.incarnation, one.pause) for at, one in story.probed]
    stood += [(at, one.incarnation, one.pause) for at, one in story.adapted]
    yield from ((at, pause) for at, number, pause in stood if number == incarnation and pause > 0)
