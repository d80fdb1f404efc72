"""The verdict: what happened, in one sentence."""

from __future__ import annotations

from evenpace.findings import Severity
from evenpace.report.deeds import answer
from evenpace.report.story import Raised, Story
from evenpace.report.words import clock, fault, uncapped, who
from evenpace.terms import say
from evenpace.terms.spelling import line, percent

_STATES = ("finished", "failed", "stopped", "interrupted", "running", "unknown")
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
    about: dict[str, list[Raised]] = {}
    for raised in grave:
        about.setdefault(who(raised.finding.subject, lang), []).append(raised)
    shown = sorted(list(about.items())[:_CLAUSES], key=lambda entry: entry[1][0].onset)
    clauses = [_about(story, name, findings, lang) for name, findings in shown]
    if left := len(grave) - sum(len(findings) for _, findings in shown):
        clauses.append(say("report-more", lang, count=left))
    text = "; ".join(clauses)
    return say("report-verdict", lang, clauses=text[:1].upper() + text[1:] if lang == "en" else text, end=end)


def _about(story: Story, name: str, findings: list[Raised], lang: str) -> str:
    """Say the worst of the findings about one subject, and how many more there are about it."""
    worst, *more = findings
    text = clause(story, worst, lang)
    return say("report-more-about", lang, text=text, count=len(more), who=name) if more else text


def clause(story: Story, raised: Raised, lang: str) -> str:
    """Say one finding in a few words: who, what, from when to when, what was done."""
    subject = raised.finding.subject
    whom = "" if raised.finding.names_culprit or subject.object else "-nobody"
    text = say(
        f"report-clause{whom}-{'open' if raised.closed is None else 'closed'}",
        lang,
        who=who(subject, lang),
        fault=_fault(raised, lang),
        since=clock(raised.onset),
        until=clock(raised.closed),
    )
    done = answer(story, raised, lang)
    return f"{text}, {done}" if done else text


def _fault(raised: Raised, lang: str) -> str:
    """Name the fault; with how sure that is, where it is not quite and not nil (then nobody is named)."""
    name = uncapped(fault(raised.finding.fault, lang))
    if raised.finding.confidence >= _SURE or not raised.finding.confidence:
        return name
    return say("report-unsure", lang, fault=name, confidence=percent(raised.finding.confidence))


def reason(word: str | None, iteration: int | None, lang: str) -> str:
    """Say why a finding was closed; `ended` at an iteration is where the work of the job changed."""
    if word not in ("relief", "restart", "ended"):
        return line(word or "")
    changed = word == "ended" and iteration is not None
    return say("report-reason-changed" if changed else f"report-reason-{word}", lang)
