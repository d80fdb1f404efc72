"""The timeline of a run: what was said and done, when it was, in the words of that time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from evenpace.findings import Finding
from evenpace.report.deeds import choice
from evenpace.report.story import Incarnation, Raised, Story
from evenpace.report.verdict import outcome, reason
from evenpace.report.words import clock, fault, sentence, uncapped, who
from evenpace.respond.telling import adapted, told
from evenpace.terms import say
from evenpace.terms.retell import retell
from evenpace.terms.spelling import line
from evenpace.watch import events as ev

# of what the log says happened at one moment
_ORDER = ("fault", "search", "decision", "strategy", "relief", "note", "run")
MOST = 200  # moments of one kind that a page holds


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of the timeline. `kind` is run, fault, search, decision, strategy, relief or note."""

    at: float
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class _Entry:
    """A moment that is put into words only where it is shown."""

    at: float
    kind: str
    words: Callable[[], str]

    def told(self) -> Moment:
        return Moment(self.at, self.kind, self.words())


def timeline(story: Story, lang: str) -> list[Moment]:
    """Return what happened, in order of time; of each kind at most `MOST`, and how many more there were."""
    by_kind: dict[str, list[_Entry]] = {kind: [] for kind in _ORDER}
    for entry in _entries(story, lang):
        by_kind[entry.kind].append(entry)
    shown = (one for entries in by_kind.values() for one in _bounded(entries, lang))
    return [one.told() for one in sorted(shown, key=lambda one: (one.at, _ORDER.index(one.kind)))]


def last_search(story: Story, lang: str) -> Moment | None:
    """Return what was compared or measured last; None where nothing was."""
    events: list[tuple[float, ev.Narrowed | ev.Probed]] = [*story.narrowed, *story.probed]
    latest = max(events, key=lambda entry: entry[0], default=None)
    return _search(story, *latest, lang).told() if latest else None


def _bounded(entries: list[_Entry], lang: str) -> list[_Entry]:
    """Return the first and the last of too many entries, and between them one that says what is left out."""
    if len(entries) <= MOST:
        return entries
    entries, half = sorted(entries, key=lambda entry: entry.at), MOST // 2
    middle = entries[half:-half]
    words = partial(say, "report-left-out", lang, count=len(middle), until=clock(middle[-1].at))
    return [*entries[:half], _Entry(middle[0].at, middle[0].kind, words), *entries[-half:]]


def _entries(story: Story, lang: str) -> Iterator[_Entry]:
    for raised in story.findings.values():
        yield from _finding(story, raised, lang)
    yield from _searches(story, lang)
    for at, event in story.adapted:
        yield _Entry(at, "strategy", partial(_begun, partial(adapted, event, lang), lang))
    yield from _notes(story, lang)
    for incarnation in story.in_order():
        yield from _incarnation(incarnation, lang)
    for at, decision in story.decisions:
        yield _Entry(at, "decision", partial(_begun, partial(choice, decision, lang), lang))
    if story.end is not None and story.latest is not None:
        yield _Entry(story.latest, "run", partial(_run_ended, story.end, lang))


def _begun(words: Callable[[], str], lang: str) -> str:
    """Begin a sentence with words that elsewhere stand within one."""
    text = words()
    return text[:1].upper() + text[1:] if lang == "en" else text


def _finding(story: Story, raised: Raised, lang: str) -> Iterator[_Entry]:
    """Yield all that was said of a finding, in the words of then, and its end."""
    said = sorted(story.sayings.get(raised.id, ()), key=lambda saying: saying[0])
    replaced = [at for _, (at, _) in pairwise(said)]
    for place, (at, finding) in enumerate(said):
        until = replaced[place] if place < len(replaced) else None
        yield _Entry(at, "fault", partial(_said, finding, lang, changed=place > 0, until=until))
    if raised.closed is not None:
        yield _Entry(raised.closed, "relief", partial(_closed, raised, lang))


def _said(finding: Finding, lang: str, *, changed: bool, until: float | None) -> str:
    """Say a finding; whether it took another's place, and when another took its own."""
    text = sentence(finding, lang)
    text = say("report-changed", lang, text=text) if changed else text
    return text if until is None else say("report-replaced", lang, text=text, until=clock(until))


def _closed(raised: Raised, lang: str) -> str:
    return say(
        "report-closed",
        lang,
        who=who(raised.finding.subject, lang),
        fault=uncapped(fault(raised.finding.fault, lang)),
        reason=reason(raised.reason, raised.closed_iteration, lang),
    )


def _searches(story: Story, lang: str) -> Iterator[_Entry]:
    """Yield what was compared and measured, each kind in the order of the log."""
    for at, narrowed in story.narrowed:
        yield _search(story, at, narrowed, lang)
    for at, probed in story.probed:
        yield _search(story, at, probed, lang)


def _search(story: Story, at: float, event: ev.Narrowed | ev.Probed, lang: str) -> _Entry:
    return _Entry(at, "search", partial(told, event, story.incarnation(event.incarnation).node_of, lang))


def _incarnation(incarnation: Incarnation, lang: str) -> Iterator[_Entry]:
    if incarnation.started is not None:
        nodes = ", ".join(map(line, incarnation.nodes)) or "-"
        key = "report-started" if incarnation.step is None else "report-started-step"
        values = {"number": incarnation.number, "nodes": nodes, "step": incarnation.step}
        yield _Entry(incarnation.started, "run", partial(say, key, lang, **values))
    if incarnation.ended is not None:
        ended = outcome(incarnation.outcome, lang)
        words = partial(say, "report-ended", lang, number=incarnation.number, outcome=ended)
        yield _Entry(incarnation.ended, "run", words)


def _run_ended(end: ev.RunEnded, lang: str) -> str:
    return say("report-run-ended", lang, outcome=outcome(end.outcome, lang), code=end.exit_code)


def _notes(story: Story, lang: str) -> Iterator[_Entry]:
    for at, skipped in story.skipped:
        values = {"path": line(skipped.path), "reason": line(skipped.reason)}
        yield _Entry(at, "note", partial(say, "report-skipped", lang, **values))
    for at, degraded in story.degraded:
        yield _Entry(at, "note", partial(_degraded, degraded.text, lang))
    for at, attached in story.attached:
        yield _Entry(at, "note", partial(say, "report-attached", lang, pid=attached.pid))


def _degraded(text: str, lang: str) -> str:
    return say("report-degraded", lang, text=line(retell(text, lang)))
