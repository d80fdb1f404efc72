"""The answer of a diagnosis on every surface: text, JSON, Markdown, SARIF, HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evenpace.diagnose.engine import diagnose, standing_out
from evenpace.diagnose.model import Case
from evenpace.diagnose.sources import Inputs
from evenpace.diagnose.telling import finding, quotation
from evenpace.findings import Evidence, Finding, IncidentLink, Subject
from evenpace.report.incidents import alike
from evenpace.report.view import Card, card_of, victims
from evenpace.report.words import date, who
from evenpace.terms import say
from evenpace.terms.spelling import line
from evenpace.watch.events import seconds

MOST_VICTIMS = 12  # that are named one by one
Alike = Callable[[Finding, str], tuple[IncidentLink, ...]]


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold what a diagnosis said, what it was read from, and what was left out: reason → names of files.

    `unusual` are lines to look at where nothing was found. `size` is in bytes. `findings` are in the language
    `lang` and carry their incidents.
    """

    findings: tuple[Finding, ...]
    lang: str = "en"
    unusual: tuple[Evidence, ...] = ()
    files: Sequence[str] = ()
    size: int = 0
    lines: int = 0
    skipped: Mapping[str, Sequence[str]] = field(default_factory=dict)


def answer_of(case: Case, inputs: Inputs, lang: str, alike: Alike = alike) -> Answer:
    """Return what is said about a case, in `lang`, with the incidents that looked the same (`alike`)."""
    found = tuple(finding(one, lang) for one in diagnose(case))
    return Answer(
        tuple(replace(one, incidents=alike(one, lang)) for one in found),
        lang,
        () if found else tuple(quotation(line) for line in standing_out(case)),
        [source.name for source in case.sources],
        sum(source.size for source in case.sources),
        sum(source.lines for source in case.sources),
        inputs.skipped,
    )


def card(finding: Finding, lang: str) -> Card:
    """Return a finding of an answer ready to be shown: when it was, and the incidents that it carries."""
    return replace(
        card_of(finding, lang, when=date(seconds(finding.since)) if finding.since else ""),
        who=accused(finding.subject, lang),
        victims=sufferers(finding.victims, lang),
        incidents=[(line(link.id), line(link.why)) for link in finding.incidents],
    )


def accused(subject: Subject, lang: str) -> str:
    """Name whom a finding accuses, or say that it names nobody."""
    return say("answer-nobody", lang) if subject == Subject(kind="job") else who(subject, lang)


def sufferers(subjects: Sequence[Subject], lang: str) -> str:
    """Name victims: ranks of which nothing else is known drawn together, the others up to MOST_VICTIMS."""
    known = list(dict.fromkeys(who(one, lang) for one in subjects if not _is_rank(one)))
    ranks = victims([one for one in subjects if _is_rank(one)], lang)
    more = [say("answer-more-victims", lang, count=len(known) - MOST_VICTIMS)] if known[MOST_VICTIMS:] else []
    return ", ".join([*([ranks] if ranks else []), *known[:MOST_VICTIMS], *more])


def _is_rank(subject: Subject) -> bool:
    return isinstance(subject.rank, int) and subject.node is None and subject.gpu is None


def forms() -> Mapping[str, Callable[[Answer], str]]:
    """Return the renderers that give text to write, by the name of their form."""
    from evenpace.report.answer import html, json, markdown, sarif

    return {
        "json": json.to_json,
        "markdown": markdown.to_markdown,
        "sarif": sarif.to_sarif,
        "html": html.to_html,
    }
