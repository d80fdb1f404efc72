"""The answer as SARIF 2.1.0, for code hosts and their viewers: a rule a fault, a result a finding."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from evenpace import __version__
from evenpace.findings import Evidence, Finding
from evenpace.library.export import visible
from evenpace.report.answer import Answer
from evenpace.report.words import clean, fault, line, who
from evenpace.terms import UnknownTerm, term

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"critical": "error", "warning": "warning", "info": "note"}


def to_sarif(answer: Answer) -> str:
    """Return the answer as SARIF."""
    faults = list(dict.fromkeys(finding.fault for finding in answer.findings))
    driver = {
        "name": "evenpace",
        "version": __version__,
        "informationUri": "https://github.com/evenpace/evenpace",
        "rules": [_rule(slug, answer.lang) for slug in faults],
    }
    run = {
        "tool": {"driver": driver},
        "results": [_result(finding, answer.lang, faults) for finding in answer.findings],
        "columnKind": "unicodeCodePoints",
    }
    page = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return visible(json.dumps(page, ensure_ascii=False, indent=2)) + "\n"


def _rule(slug: str, lang: str) -> dict[str, Any]:
    try:
        known = term("fault", slug)
        definition = known.definition_ko if lang == "ko" and known.definition_ko else known.definition
    except UnknownTerm:
        definition = slug
    return {"id": slug, "shortDescription": {"text": fault(slug, lang)}, "fullDescription": {"text": definition}}


def _result(finding: Finding, lang: str, faults: list[str]) -> dict[str, Any]:
    advice = [f"{line(one.text)}{f' $ {clean(one.command)}' if one.command else ''}" for one in finding.advice]
    message = "\n".join([f"{who(finding.subject, lang)}: {line(finding.summary)}", *advice])
    return {
        "ruleId": finding.fault,
        "ruleIndex": faults.index(finding.fault),
        "level": _LEVELS[finding.severity.value],
        "rank": round(100 * finding.confidence, 1),
        "message": {"text": message},
        "locations": [_location(item) for item in finding.evidence[:1] if item.line is not None],
        "relatedLocations": [
            _location(item) | {"id": number}
            for number, item in enumerate(finding.evidence[1:], 1)
            if item.line is not None
        ],
    }


def _location(item: Evidence) -> dict[str, Any]:
    region = {"startLine": item.line, "snippet": {"text": clean(item.text or "")}}
    address = {"uri": quote(item.source.replace("\\", "/"))}
    return {"physicalLocation": {"artifactLocation": address, "region": region}}
