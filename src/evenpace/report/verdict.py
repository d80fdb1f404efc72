"""The verdict: what happened in one sentence, and the timeline behind it."""

from __future__ import annotations

from dataclasses import dataclass

from evenpace.findings import Severity
from evenpace.report.deeds import answer, choice
from evenpace.report.story import Incarnation, Raised, Story
from evenpace.report.words import clock, fault, sentence, uncapped, who
from evenpace.respond.telling import adapted, told
from evenpace.terms import say
from evenpace.terms.retell import retell
from evenpace.terms.spelling import line, percent
from evenpace.watch import events as ev

_STATES = ("finished", "failed", "stopped", "interrupted", "running", "unknown")
# of what the log says happened at one moment
_ORDER = ("fault", "search", "decision", "strategy", "relief", "note", "run")
_SURE = 0.8  # confidence from which the verdict says it plainly
_CLAUSES = 3  # a sentence holds no more; the rest is in the table


def state(story: Story) -> str:
    """Return how the run stands: the outcome of the log's end, or `running`."""
    return story.end.outcome if story.end else "running"


def outcome(word: str | None, lang: str) -> str:
    """Say an outcome."""
    return say(f"report-outcome-{word}", lang) if word in _STATES else line(word or "?")


def verdict(story: Story, lang: str) -> str:
    """Say in one sentence what was wrong with whom, since when, what was done, and how the run stands."""
    grave = [f for f in story.ranked() if f.finding.severity is not Severity.INFO]
    end = say(f"report-run-{state(story)}", lang) if state(story) in _STATES else outcome(state(story), lang)
    if not grave:
        seen = any(one.workers or len(one.iterations) for one in story.incarnations.values())
        return say("report-verdict-clean" if seen or not story.end else "report-verdict-blind", lang, end=end)
    shown = sorted(grave[:_CLAUSES], key=lambda f: f.onset)
    clauses = [clause(story, f, lang) for f in shown]
    if len(grave) > len(shown):
        clauses.append(say("report-more", lang, count=len(grave) - len(shown)))
    text = "; ".join(clauses)
    return say("report-verdict", lang, clauses=text[:1].upper() + text[1:] if lang == "en" else text, end=end)


def clause(story: Story, raised: Raised, lang: str) -> str:
    """Say one finding in a few words: who, what, from when to when, what was done."""
    key = "report-clause-open" if raised.closed is None else "report-clause-closed"
    text = say(
        key,
        lang,
        who=who(raised.finding.subject, lang),
        fault=_fault(raised, lang),
        since=clock(raised.onset),
        until=clock(raised.closed),
    )
    done = answer(story, raised, lang)
    return f"{text}, {done}" if done else text


def _fault(raised: Raised, lang: str) -> str:
    """Name the fault; with how sure that is, where it is not quite."""
    name = uncapped(fault(raised.finding.fault, lang))
    if raised.finding.confidence >= _SURE:
        return name
    return say("report-unsure", lang, fault=name, confidence=percent(raised.finding.confidence))


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of the timeline. `kind` is run, fault, search, decision, strategy, relief or note."""

    at: float
    kind: str
    text: str


def timeline(story: Story, lang: str) -> list[Moment]:
    """Return what happened, in order of time."""
    moments = [*_findings(story, lang), *_answers(story, lang), *_notes(story, lang)]
    for incarnation in story.in_order():
        moments.extend(_incarnation(incarnation, lang))
    for at, decision in story.decisions:
        moments.append(Moment(at, "decision", choice(decision, lang)))
    moments.extend(_run(story, lang))
    return sorted(moments, key=lambda moment: (moment.at, _ORDER.index(moment.kind)))


def _run(story: Story, lang: str) -> list[Moment]:
    if story.end is None or story.latest is None:
        return []
    text = say("report-run-ended", lang, outcome=outcome(story.end.outcome, lang), code=story.end.exit_code)
    return [Moment(story.latest, "run", text)]


def _findings(story: Story, lang: str) -> list[Moment]:
    moments = []
    for raised in story.findings.values():
        moments.append(Moment(raised.raised, "fault", sentence(raised.finding, lang)))
        if raised.closed is not None:
            text = say(
                "report-closed",
                lang,
                who=who(raised.finding.subject, lang),
                fault=uncapped(fault(raised.finding.fault, lang)),
                reason=reason(raised.reason, lang),
            )
            moments.append(Moment(raised.closed, "relief", text))
    return moments


def _answers(story: Story, lang: str) -> list[Moment]:
    strategies = [Moment(at, "strategy", adapted(one, lang)) for at, one in story.adapted]
    return [*searches(story, lang), *strategies]


def searches(story: Story, lang: str) -> list[Moment]:
    """Return what was compared and measured, each kind in the order of the log."""
    events: list[tuple[float, ev.Narrowed | ev.Probed]] = [*story.narrowed, *story.probed]
    return [
        Moment(at, "search", told(one, story.incarnation(one.incarnation).node_of, lang))
        for at, one in events
    ]


def reason(word: str | None, lang: str) -> str:
    """Say why a finding was closed."""
    return say(f"report-reason-{word}", lang) if word in ("relief", "restart", "ended") else line(word or "")


def _incarnation(incarnation: Incarnation, lang: str) -> list[Moment]:
    moments = []
    if incarnation.started is not None:
        nodes = ", ".join(map(line, incarnation.nodes)) or "-"
        key = "report-started" if incarnation.step is None else "report-started-step"
        text = say(key, lang, number=incarnation.number, nodes=nodes, step=incarnation.step)
        moments.append(Moment(incarnation.started, "run", text))
    if incarnation.ended is not None:
        ended = outcome(incarnation.outcome, lang)
        text = say("report-ended", lang, number=incarnation.number, outcome=ended)
        moments.append(Moment(incarnation.ended, "run", text))
    return moments


def _notes(story: Story, lang: str) -> list[Moment]:
    said = [
        (at, say("report-skipped", lang, path=line(event.path), reason=line(event.reason)))
        for at, event in story.skipped
    ]
    said += [
        (at, say("report-degraded", lang, text=line(retell(event.text, lang))))
        for at, event in story.degraded
    ]
    said += [(at, say("report-attached", lang, pid=event.pid)) for at, event in story.attached]
    return [Moment(at, "note", text) for at, text in said]
