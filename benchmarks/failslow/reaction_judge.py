"""What evenpace said about an injection, compared with the truth."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from reaction_plan import Injection
from watched import Watched

from evenpace.findings import Finding
from evenpace.watch.events import Event, FindingRaised, Iteration, Narrowed, seconds

COMPUTE = ("non-communication-slow", "data-loader")


@dataclass(frozen=True, slots=True)
class Result:
    """What came of an injection, and how soon, in slow iterations.

    `onset`: those taken in when the onset was told; `named`: likewise, the right answer; `clock`: those that
    had ended by then. `passive`: proven by what the tap saw. Times in epoch seconds.
    """

    training: str
    kind: str
    ranks: tuple[int, ...]
    began: float
    ended: float
    right: bool = False
    innocent: bool = False
    passive: bool = False
    onset: int | None = None
    named: int | None = None
    clock: int | None = None
    pace: float | None = None
    said: str = ""


def judge(name: str, watched: Watched, what: Injection, span: tuple[float, float], usual: float) -> Result:
    """Judge what was said in a span of time (epoch seconds); `usual` is the healthy iteration in seconds."""
    said, slow = answers(watched, *span), slow_iterations(watched, span[0])
    first = next((event for event in said if is_right(event, what)), None)
    return Result(
        *(name, what.kind, what.ranks, *span),
        right=first is not None and all(is_right(event, what) for event in _last_words(said)),
        innocent=any(is_wrong(event, what) for event in said),
        passive=any(isinstance(event, Narrowed) and event.proven and is_right(event, what) for event in said),
        onset=_seen_before(watched, span[0], said[0]) if said else None,
        named=None if first is None else _seen_before(watched, span[0], first),
        clock=None if first is None else _finished(slow, seconds(first.time)),
        pace=statistics.median(max(event.durations) for event in slow) / usual if slow else None,
        said=" | ".join(map(in_short, said)) or "nothing",
    )


def answers(watched: Watched, began: float, ended: float = float("inf")) -> list[Event]:
    """Return what was said between two moments."""
    watched.run.read()
    return [
        event
        for event in watched.run.events
        if isinstance(event, Narrowed | FindingRaised) and began <= seconds(event.time) <= ended
    ]


def slow_iterations(watched: Watched, began: float) -> list[Iteration]:
    """Return the iterations that began after a moment."""
    return [event for event in watched.iterations() if seconds(event.time) > began]


def accused(finding: Finding) -> set[int]:
    """Return the ranks that a finding names; of a link, its two ends."""
    ranks = finding.subject.rank
    return set() if ranks is None else {ranks} if isinstance(ranks, int) else set(ranks)


def is_right(event: Event, what: Injection) -> bool:
    """Tell whether it says the truth: the ranks, the pair, or (rings) a link among the candidates."""
    if isinstance(event, FindingRaised):
        named, fault = accused(event.finding), event.finding.fault
        if what.of_link:
            return fault == "communication-slow" and named in (set(), set(what.ranks))
        return fault in COMPUTE and named == set(what.ranks)
    assert isinstance(event, Narrowed)
    if not what.of_link:
        return event.cause == "compute" and event.proven and set(event.suspects) == set(what.ranks)
    if event.cause != "link":
        return False
    return set(event.links) == {what.ranks} if event.proven else what.ranks in event.links


def is_wrong(event: Event, what: Injection) -> bool:
    """Tell whether it accuses somebody to whom nothing was done: by name, or as proven."""
    if isinstance(event, FindingRaised):
        return bool(accused(event.finding) - set(what.ranks))
    assert isinstance(event, Narrowed)
    named = set(event.suspects) | {rank for link in event.links for rank in link}
    return event.proven and bool(named - set(what.ranks))


def _last_words(said: Sequence[Event]) -> list[Event]:
    """Return the last narrowing and the last finding."""
    return list({type(event): event for event in said}.values())


def _seen_before(watched: Watched, began: float, told: Event) -> int:
    """Count the slow iterations that the watcher had taken in when it told."""
    earlier = watched.run.events[: watched.run.events.index(told)]
    return sum(isinstance(event, Iteration) and seconds(event.time) > began for event in earlier)


def _finished(slow: Sequence[Iteration], told: float) -> int:
    """Count the slow iterations that had ended at a moment."""
    return sum(seconds(event.time) + max(event.durations) <= told for event in slow)


def in_short(event: Event) -> str:
    """Say an answer in short."""
    if isinstance(event, FindingRaised):
        return f"{event.finding.fault} {sorted(accused(event.finding)) or ''}".strip()
    assert isinstance(event, Narrowed)
    links = f"{len(event.links)} links" if len(event.links) > 2 else event.links or ""
    return f"{'proven' if event.proven else 'narrowed'} {event.cause} {event.suspects or ''} {links}".strip()
