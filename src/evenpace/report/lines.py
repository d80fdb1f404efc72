"""One line an event, for a live run where there is no terminal to draw on."""

from __future__ import annotations

from statistics import median

from evenpace.report.deeds import choice
from evenpace.report.story import Story
from evenpace.report.verdict import outcome, reason
from evenpace.report.words import sentence
from evenpace.respond.telling import told
from evenpace.terms import say
from evenpace.terms.spelling import duration, line
from evenpace.watch import events as ev


def event_line(event: ev.Event, story: Story, lang: str) -> str:
    """Say one event on one line; `story` already knows it."""
    time = line(event.time)
    text = _event_words(event, story, lang)
    return f"{time}  {event.__struct_config__.tag}  {text}".rstrip()


def _event_words(event: ev.Event, story: Story, lang: str) -> str:  # noqa: PLR0911 - one a kind of event
    match event:
        case ev.Iteration() if event.durations and event.busy and event.ranks:
            return _iteration_words(event, story, lang)
        case ev.FindingRaised():
            return sentence(event.finding, lang)
        case ev.FindingClosed():
            return f"#{event.id} {reason(event.reason, event.iteration, lang)}"
        case ev.Decision():
            return choice(event, lang)
        case ev.Narrowed() | ev.Probed() | ev.Adapted():
            return told(event, story.incarnation(event.incarnation).node_of, lang)
        case ev.IncarnationEnded() | ev.RunEnded():
            return outcome(event.outcome, lang)
    return line(_plain_words(event))


def _plain_words(event: ev.Event) -> str:
    """Return the words of an event that are the same in all languages."""
    words = ""
    match event:
        case ev.RunStarted():
            words = " ".join([event.run, *event.command])
        case ev.IncarnationStarted():
            step = "" if event.step is None else f" step {event.step}"
            words = f"{event.incarnation} {' '.join(event.agents)}{step}"
        case ev.WorkerJoined():
            words = f"rank {event.rank} {event.node} pid {event.pid} tap {event.tap} {event.note}"
        case ev.WorkerExited():
            cause = event.exception or event.signal or (f"code {event.code}" if event.code else "")
            words = f"rank {event.rank} {event.node} {event.how} {cause}"
        case ev.PeriodFound():
            words = f"rank {event.rank} operations {event.operations}"
        case ev.CheckpointSkipped():
            words = f"{event.path}: {event.reason}"
        case ev.WatchDegraded():
            words = event.text
        case ev.WatchAttached():
            words = f"pid {event.pid}"
    return words


def _iteration_words(event: ev.Iteration, story: Story, lang: str) -> str:
    busy, rank = max(zip(event.busy, event.ranks, strict=False))
    node = line(story.incarnation(event.incarnation).node_of(rank)) or "?"
    slowest = say("report-live-worker", lang, rank=rank, node=node, busy=duration(busy))
    return f"{event.iteration}  {duration(median(event.durations))}  {slowest}"
