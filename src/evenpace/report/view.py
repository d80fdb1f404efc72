"""What the report shows, in words: the same facts, findings and tables for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from evenpace.diagnose.retelling import retold
from evenpace.findings import Finding, Subject
from evenpace.report.deeds import answer
from evenpace.report.incidents import alike
from evenpace.report.iterations import Floats
from evenpace.report.loss import lost
from evenpace.report.search import Search, search
from evenpace.report.story import Incarnation, Raised, Story
from evenpace.report.totals import losses, recovered
from evenpace.report.verdict import outcome, reason, state
from evenpace.report.words import clock, date, evidence, fault, who
from evenpace.terms import say
from evenpace.terms.spelling import clean, duration, line, percent, ranges

_MOST_EVIDENCE = 16


@dataclass(frozen=True, slots=True)
class Card:
    """One finding, ready to be shown."""

    severity: str
    severity_label: str
    who: str
    fault: str
    sentence: str
    confidence: str
    when: str
    state: str
    deed: str
    victims: str
    evidence: list[str]
    advice: list[tuple[str, str]]  # text, command
    missing: list[str]
    incidents: list[tuple[str, str]]  # id, why
    search: Search | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """One incarnation, ready to be shown. `durations` are of its iterations, in seconds."""

    number: int
    nodes: str
    step: str
    when: str
    outcome: str
    count: int
    median: float | None
    slowest: float | None
    operations: str
    durations: Floats


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One worker of one incarnation. Seconds are means an iteration; `share` is the part spent waiting."""

    incarnation: int
    rank: int
    node: str
    pid: str
    tap: str
    end: str
    duration: float | None
    busy: float | None
    waiting: float | None
    share: float | None


def facts(story: Story, lang: str) -> list[tuple[str, str]]:
    """Return the facts of a run as label and value; what the log does not say is left out."""
    run, cost = story.run, lost(story)
    known: list[tuple[str, str]] = []
    if run:
        budget = say(
            "report-budget", lang, used=story.restarts(), restarts=run.restarts, nodes=run.max_nodes_out
        )
        known += [
            ("command", line(" ".join(run.command))),
            ("host", f"{line(run.host)}, evenpace {line(run.version)}"),
            ("policy", f"{line(run.policy)} ({budget})"),
            ("nodes", ", ".join(map(line, run.nodes))),
            ("spares", ", ".join(map(line, run.spares))),
        ]
    known += [
        ("out", ", ".join(map(line, story.nodes_out()))),
        ("start", date(story.started)),
        ("end" if story.end else "latest", f"{date(story.latest)} ({_length(story)})"),
        ("state", outcome(state(story), lang)),
        ("lost", losses(cost, lang)),
        ("recovered", recovered(story, cost, lang)),
        ("damaged", str(story.damaged) if story.damaged else ""),
    ]
    return [(say(f"report-fact-{name}", lang), value) for name, value in known if value]


def _length(story: Story) -> str:
    both = story.started is not None and story.latest is not None
    return duration(story.latest - story.started) if both else "?"  # type: ignore[operator]


def cards(story: Story, lang: str) -> list[Card]:
    """Return the findings, the answer first."""
    return [_card(story, raised, lang) for raised in story.ranked()]


def _card(story: Story, raised: Raised, lang: str) -> Card:
    card = card_of(
        raised.finding,
        lang,
        when=_when(raised, lang),
        state=say("report-open", lang)
        if raised.closed is None
        else reason(raised.reason, raised.closed_iteration, lang),
        deed=answer(story, raised, lang),
    )
    confidence = card.confidence if raised.finding.confidence else ""  # nil where nobody is named
    return replace(card, search=search(story, raised, lang), confidence=confidence)


def card_of(finding: Finding, lang: str, *, when: str = "", state: str = "", deed: str = "") -> Card:
    """Return a finding ready to be shown, with what a run's story adds to it."""
    finding = retold(finding, lang)
    return Card(
        severity=finding.severity.value,
        severity_label=say(f"report-severity-{finding.severity.value}", lang),
        who=who(finding.subject, lang),
        fault=fault(finding.fault, lang),
        sentence=line(finding.summary),
        confidence=percent(finding.confidence),
        when=when,
        state=state,
        deed=deed,
        victims=victims(finding.victims, lang),
        evidence=_evidence(finding, lang),
        advice=[(line(a.text), clean(a.command or "")) for a in finding.advice],
        missing=[line(text) for text in finding.missing],
        incidents=[(line(link.id), line(link.why)) for link in alike(finding, lang)],
    )


def _evidence(finding: Finding, lang: str) -> list[str]:
    shown = [evidence(item, lang) for item in finding.evidence[:_MOST_EVIDENCE]]
    if len(finding.evidence) > _MOST_EVIDENCE:
        shown.append(say("report-more-evidence", lang, count=len(finding.evidence) - _MOST_EVIDENCE))
    return shown


def _when(raised: Raised, lang: str) -> str:
    span = (
        f"{clock(raised.onset)} - {clock(raised.closed)}"
        if raised.closed is not None
        else clock(raised.onset)
    )
    if raised.iteration is None:
        return span
    first, last = raised.iteration, raised.closed_iteration
    iterations = f"{first} - {last}" if last is not None else str(first)
    return say("report-when-iteration", lang, span=span, iterations=iterations)


def victims(subjects: Iterable[Subject], lang: str) -> str:
    """Name the victims, with ranks drawn together where that is all there is to say."""
    subjects = list(subjects)
    ranks = [s.rank for s in subjects if isinstance(s.rank, int)]
    if ranks and len(ranks) == len(subjects):
        return f"rank {ranges(ranks)}"
    return ", ".join(who(s, lang) for s in subjects)


def starts(story: Story, lang: str) -> list[Start]:
    """Return the incarnations, first to last."""
    return [start_of(incarnation, lang) for incarnation in story.in_order()]


def start_of(incarnation: Incarnation, lang: str) -> Start:
    """Sum one incarnation up."""
    durations = incarnation.iterations.durations
    ended = f" - {clock(incarnation.ended)}" if incarnation.ended is not None else ""
    return Start(
        number=incarnation.number,
        nodes=", ".join(map(line, incarnation.nodes)),
        step="" if incarnation.step is None else str(incarnation.step),
        when=f"{clock(incarnation.started)}{ended}",
        outcome=outcome(incarnation.outcome or "running", lang),
        count=len(durations),
        median=float(np.median(durations)) if len(durations) else None,
        slowest=float(durations.max()) if len(durations) else None,
        operations="" if incarnation.operations is None else str(incarnation.operations),
        durations=durations,
    )


def workers(incarnation: Incarnation, lang: str) -> list[WorkerRow]:
    """Return the workers of an incarnation by rank, also those that only a part of the log knows."""
    means = {m.rank: m for m in incarnation.iterations.means()}
    rows = []
    for rank in sorted({*means, *incarnation.workers}):
        worker, mean = incarnation.workers.get(rank), means.get(rank)
        rows.append(
            WorkerRow(
                incarnation=incarnation.number,
                rank=rank,
                node=line(worker.node) if worker else "",
                pid=str(worker.pid) if worker and worker.pid is not None else "",
                tap=line(f"{worker.tap} ({worker.note})" if worker.note else worker.tap) if worker else "",
                end=exit_of(incarnation, rank, lang),
                duration=mean.duration if mean else None,
                busy=mean.busy if mean else None,
                waiting=mean.waiting if mean else None,
                share=mean.waiting / mean.duration if mean and mean.duration else None,
            )
        )
    return rows


def exit_of(incarnation: Incarnation, rank: int, lang: str) -> str:
    """Say how a worker ended; empty while it runs."""
    worker = incarnation.workers.get(rank)
    if worker is None or not worker.how:
        return ""
    known = worker.how in ("clean", "exception", "killed", "gone")
    how = say(f"report-exit-{worker.how}", lang) if known else line(worker.how)
    detail = line(worker.exception or worker.signal).rstrip(": ")  # of an exception without a message
    return f"{how}: {detail}" if detail else how
