"""Say what a check found, in a language: gaps as findings, and why an outcome is neither pass nor fail."""

from __future__ import annotations

from collections.abc import Mapping

from evenpace.checks.answers import Gap
from evenpace.checks.catalogue import Check
from evenpace.checks.running import Result
from evenpace.collect.snapshot import Unread
from evenpace.findings import Advice, Finding, IncidentLink, Outcome, Subject
from evenpace.terms import say
from evenpace.terms.bilingual import Text, fill_command
from evenpace.terms.spelling import line

_MOST = 3  # reasons that are told of one result


def finding(check: Check, gap: Gap, lang: str) -> Finding:
    """Return a gap as a finding in `lang`: text of the cluster stands in it as quoted data only."""
    content, details = check.content, _details(gap.subject, gap.details)
    return Finding(
        fault=content.fault,
        severity=content.severity,
        confidence=content.certainty,
        subject=gap.subject,
        summary=content.gap.say(lang, details),
        since=gap.since,
        evidence=gap.evidence,
        advice=tuple(
            Advice(Text(step.en, step.ko).say(lang, details), _command(step.command, details))
            for step in content.advice
        ),
        terms=content.terms,
        incidents=tuple(IncidentLink(one.id, one.ko if lang == "ko" else one.en) for one in content.incident),
    )


def reason(result: Result, lang: str) -> str:
    """Say why a result is neither pass nor fail; empty where it is one of them."""
    if result.outcome is Outcome.ERROR:
        return say("audit-error", lang, error=line(result.error))
    if result.outcome is Outcome.NO_DATA and result.unsure and result.check.content.unsure:
        told = [
            line(result.check.content.unsure.say(lang, _details(one.subject, one.details)))
            for one in result.unsure[:_MOST]
        ]
        return "; ".join([*told, *unread(result, lang)][:_MOST])
    if result.outcome in (Outcome.NO_DATA, Outcome.NOT_APPLICABLE):
        return "; ".join(unread(result, lang)[:_MOST]) or say("audit-nothing", lang)
    return ""


def unread(result: Result, lang: str) -> list[str]:
    """Say what could not be read, a sentence each."""
    return [unread_line(one, lang) for one in result.unread]


def unread_line(one: Unread, lang: str) -> str:
    """Say why something could not be read: `list pods: forbidden`."""
    told = say(f"audit-unread-{one.why}", lang, what=line(one.what))
    return f"{told} ({line(one.detail)})" if one.detail else told


def _details(subject: Subject, details: Mapping[str, str | int | float]) -> dict[str, str]:
    """Return what fills the texts: the details, and the parts of the subject's name.

    `object` is the name; of `JobSet/ml/train` there are `kind`, `namespace` and `name` as well.
    """
    node = subject.node if isinstance(subject.node, str) else ", ".join(subject.node or ())
    parts = (subject.object or "").split("/")
    named = {"object": subject.object or node, "node": node, "kind": parts[0], "name": parts[-1]}
    named["namespace"] = parts[1] if len(parts) == 3 else ""
    return {name: line(str(value)) for name, value in (named | dict(details)).items()}


def _command(template: str | None, details: dict[str, str]) -> str | None:
    return fill_command(template, details) if template else None
