"""The answer as SARIF 2.1.0, for code hosts and their viewers: a rule a fault, a result a finding."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from evenpace import __version__
from evenpace.findings import Evidence, Finding
from evenpace.report.answer import Answer, accused
from evenpace.report.answer.json import written
from evenpace.report.answer.text import closing
from evenpace.report.words import fault
from evenpace.terms import UnknownTerm, say, term
from evenpace.terms.spelling import clean, line

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"critical": "error", "warning": "warning", "info": "note"}
_ESCAPED = str.maketrans({"[": "\\[", "]": "\\]", "{": "{{", "}": "}}"})


def to_sarif(answer: Answer) -> str:
    """Return the answer as SARIF."""
    faults = list(dict.fromkeys(finding.fault for finding in answer.findings))
    driver = {
        "name": "evenpace",
        "version": __version__,
        "rules": [_rule(slug, answer.lang) for slug in faults],
    }
    run = {
        "tool": {"driver": driver},
        "language": answer.lang,
        "invocations": [_invocation(answer)],
        "results": [_result(finding, answer.lang, faults) for finding in answer.findings],
        "columnKind": "unicodeCodePoints",
    }
    return written({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _invocation(answer: Answer) -> dict[str, Any]:
    """Say what was left out."""
    told = [{"level": "warning", "message": message(text)} for text in closing(answer)[1:]]
    return {"executionSuccessful": True, "toolExecutionNotifications": told}


def _rule(slug: str, lang: str) -> dict[str, Any]:
    try:
        known = term("fault", slug)
        definition = known.definition_ko if lang == "ko" and known.definition_ko else known.definition
    except UnknownTerm:
        definition = slug
    return {
        "id": slug,
        "shortDescription": message(fault(slug, lang)),
        "fullDescription": message(definition),
    }


def _result(finding: Finding, lang: str, faults: list[str]) -> dict[str, Any]:
    places = [_location(item) for item in finding.evidence if item.line is not None]
    related = [place | {"id": number} for number, place in enumerate(places[1:], 1)]
    return {
        "ruleId": finding.fault,
        "ruleIndex": faults.index(finding.fault),
        "level": LEVELS[finding.severity.value],
        "rank": round(100 * finding.confidence, 1),
        "message": message("\n".join(_said(finding, lang))),
        "locations": places[:1],
        "relatedLocations": related,
        "partialFingerprints": {"evenpace/v1": _fingerprint(finding)},
    }


def _said(finding: Finding, lang: str) -> list[str]:
    said = [f"{accused(finding.subject, lang)}: {line(finding.summary)}"]
    for number, step in enumerate(finding.advice, 1):
        said.append(f"{number}. {line(step.text)}")
        said += [f"   $ {clean(step.command)}"] if step.command else []
    return said + [f"{say('report-missing', lang)}: {line(text)}" for text in finding.missing]


def message(text: str) -> dict[str, str]:
    """Return a message in which nothing is a link or a placeholder (SARIF 2.1.0, 3.11.5 and 3.11.6)."""
    return {"text": text.translate(_ESCAPED)}


def _fingerprint(finding: Finding) -> str:
    """Return what the same finding has in another language, and when it is found again."""
    subject = finding.subject
    known = [finding.fault, finding.phrase, subject.node, subject.rank, subject.local_rank, subject.gpu]
    return sha256(repr(known).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _location(item: Evidence) -> dict[str, Any]:
    region = {"startLine": item.line, "snippet": {"text": clean(item.text or "")}}
    return {"physicalLocation": {"artifactLocation": {"uri": uri(item.source)}, "region": region}}


def uri(name: str) -> str:
    """Return a file as a URI: relative where its name is relative and stays below, else with its scheme."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        return "file://" + quote(os.fsencode(os.path.abspath(path)))  # noqa: PTH100  links stay as named
    return quote(os.fsencode(path.as_posix()))
