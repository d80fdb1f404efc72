"""The audit as SARIF 2.1.0, for code hosts and their viewers: a rule a check, a result a gap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from evenpace import __version__
from evenpace.checks.catalogue import Check
from evenpace.findings import Finding
from evenpace.report.answer.json import streamed
from evenpace.report.answer.markdown import fenced, harmless
from evenpace.report.answer.sarif import LEVELS, SCHEMA, message
from evenpace.report.audit import Audit
from evenpace.report.audit.groups import beside, shortened, sources, undecided
from evenpace.report.audit.naming import names
from evenpace.report.words import evidence
from evenpace.terms import say
from evenpace.terms.bilingual import Text, fill_command
from evenpace.terms.spelling import clean, line

MOST_PLACES = 20  # of a gap that several nodes share


def render(audit: Audit) -> Iterator[str]:
    """Yield the audit as SARIF: all checks that ran are rules, suppressed gaps are marked as such."""
    results: list[Any] = []
    index = {id_: n for n, id_ in enumerate(dict.fromkeys(result.check.id for result in audit.results))}
    checks = {result.check.id: result.check for result in audit.results}
    run = {
        "tool": {
            "driver": {
                "name": "evenpace",
                "version": __version__,
                "rules": [_rule(checks[id_], audit.lang) for id_ in index],
            }
        },
        "automationDetails": {"id": "evenpace/audit/"},
        "language": audit.lang,
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _notes(audit, index)}],
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    page = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return streamed(page, results, (_result(audit, place, index) for place in range(len(audit.findings))))


def _rule(check: Check, lang: str) -> dict[str, Any]:
    content = check.content
    rule = {
        "id": check.id,
        "shortDescription": message(content.title.say(lang, {})),
        "fullDescription": message(" ".join(content.why.say(lang, {}).split())),
        "help": {
            "text": message("\n".join(_help(check, lang)))["text"],
            "markdown": "\n".join(_help_markdown(check, lang)),
        },
        "defaultConfiguration": {"level": LEVELS[content.severity.value]},
        "properties": {
            "tags": [check.family, content.fault, *(one.id for one in content.incident)],
            "precision": "very-high" if content.certainty == 1 else "medium",
        },
    }
    return rule | ({"helpUri": content.document[0].url} if content.document else {})


def _help(check: Check, lang: str) -> Iterator[str]:
    for number, step in enumerate(check.content.advice, 1):
        yield f"{number}. {Text(step.en, step.ko).say(lang, {})}"
        if step.command:
            yield f"   $ {fill_command(step.command, {})}"
    for one in check.content.incident:
        yield f"{one.id}: {one.ko if lang == 'ko' else one.en}"


def _help_markdown(check: Check, lang: str) -> Iterator[str]:
    for number, step in enumerate(check.content.advice, 1):
        yield f"{number}. {harmless(Text(step.en, step.ko).say(lang, {}))}\n"
        if step.command:
            yield fenced(fill_command(step.command, {}), "sh", "   ")
    for one in check.content.incident:
        yield f"- {one.id}: {harmless(one.ko if lang == 'ko' else one.en)}"
    for document in check.content.document:
        yield f"- [{harmless(document.title)}](<{document.url}>)"


def _result(audit: Audit, place: int, index: Mapping[str, int]) -> dict[str, Any]:
    finding, number = audit.findings[place], audit.of[place]
    result = audit.results[number]
    told = {
        "ruleId": result.check.id,
        "ruleIndex": index[result.check.id],
        "kind": "fail",
        "level": LEVELS[finding.severity.value],
        "rank": round(100 * finding.confidence, 1),
        "message": message("\n".join(_said(finding, audit.lang))),
        "locations": _places(finding, result.check.family),
        "partialFingerprints": {"evenpace/v1": audit.prints[place]},
    }
    if one := audit.suppressed.get(place):
        told["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": f"{line(one.reason)} ({one.expires})"}
        ]
    if audit.baseline is not None:
        told["baselineState"] = "unchanged" if audit.prints[place] in audit.baseline.found else "new"
    return told


def _said(finding: Finding, lang: str) -> list[str]:
    said = [line(finding.summary), *(evidence(item, lang) for item in finding.evidence)]
    for number, step in enumerate(finding.advice, 1):
        said.append(f"{number}. {line(step.text)}")
        said += [f"   $ {clean(step.command)}"] if step.command else []
    return said


def _places(finding: Finding, family: str) -> list[dict[str, Any]]:
    """Return where a gap is: the object, and a path of its name for hosts that show nothing without a file.

    SARIF takes one place for one of them all; further nodes of the same gap are within its name.
    """
    told = names(finding.subject)
    kind = "Node/" if finding.subject.node is not None else ""
    object_ = {
        "name": line(shortened(told, "en", MOST_PLACES)),
        "fullyQualifiedName": line(f"{family}/{kind}{shortened(told, 'en', MOST_PLACES)}"),
        "kind": "resource",
    }
    physical = {"artifactLocation": {"uri": _path(f"{family}/{kind}{told[0]}")}, "region": {"startLine": 1}}
    return [{"physicalLocation": physical, "logicalLocations": [object_]}]


def _path(name: str) -> str:
    """Return a name as a relative URI that leads nowhere above."""
    steps = (step if step.strip(".") else "_" for step in name.split("/"))
    return quote("/".join(steps).encode("utf-8", "surrogateescape"))


def _notes(audit: Audit, index: Mapping[str, int]) -> list[dict[str, Any]]:
    """Say what was read, what could not be decided and why, and what does not count."""
    notes: list[dict[str, Any]] = [{"level": "note", "message": message(text)} for text in sources(audit)]
    for why, ids in undecided(audit):
        rules = [{"id": id_, "index": index[id_]} for id_ in ids]
        notes += [
            {
                "level": "warning",
                "message": message(f"{say('audit-outcome-no-data', audit.lang)}: {rule['id']}: {why}"),
                "associatedRule": rule,
            }
            for rule in rules
        ]
    return notes + [{"level": "note", "message": message(text)} for text in beside(audit)]
