"""One line an event, for a live run where there is no terminal to draw on."""

from __future__ import annotations

from statistics import median

from evenpace.report.story import Story
from evenpace.report.verdict import deed, outcome, reason
from evenpace.report.words import duration, line, sentence
from evenpace.terms import say
from evenpace.watch import events as ev


def event_line(event: ev.Event, story: Story, lang: str) -> str:
    """Say one event on one line; `story` already knows it."""
    time = line(event.time)
    text = _event_words(event, story, lang)
    return f"{time}  {event.__struct_config__.tag}  {text}".rstrip()


def _event_words(event: ev.Event, story: Story, lang: str) -> str:  # noqa: PLR0911 - one for each kind of event
    match event:
        case ev.Iteration() if event.durations and event.busy and event.ranks:
            return _iteration_words(event, story, lang)
        case ev.RunStarted():
            return line(" ".join([event.run, *event.command]))
        case ev.IncarnationStarted():
            key = "report-started" if event.step is None else "report-started-step"
            return say(
                key, lang, number=event.incarnation, nodes=", ".join(map(line, event.agents)), step=event.step
            )
        case ev.WorkerJoined():
            return line(f"rank {event.rank} {event.node} pid {event.pid} tap {event.tap} {event.note}")
        case ev.WorkerExited():
            return line(f"rank {event.rank} {event.node} {event.how} {event.exception}{event.signal}")
        case ev.FindingRaised():
            return sentence(event.finding, lang)
        case ev.FindingClosed():
            return f"#{event.id} {reason(event.reason, lang)}"
        case ev.Decision():
            return f"{deed(event, lang)}: {line(event.reason)}"
        case ev.CheckpointSkipped():
            return line(f"{event.path}: {event.reason}")
        case ev.IncarnationEnded() | ev.RunEnded():
            return outcome(event.outcome, lang)
        case ev.WatchDegraded():
            return line(event.text)
        case ev.PeriodFound():
            return f"rank {event.rank}: {event.operations}"
    return ""


def _iteration_words(event: ev.Iteration, story: Story, lang: str) -> str:
    busy, rank = max(zip(event.busy, event.ranks, strict=False))
    node = line(story.incarnation(event.incarnation).node_of(rank)) or "?"
    slowest = say("report-live-worker", lang, rank=rank, node=node, busy=duration(busy))
    return f"{event.iteration}  {duration(median(event.durations))}  {slowest}"
