"""The answer of a diagnosis on every surface: text, JSON, Markdown, SARIF, HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evenpace.findings import Evidence, Finding
from evenpace.report.incidents import alike


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold what a diagnosis said, what it was read from, and what was left out: reason → names of files.

    `unusual` are lines to look at where nothing was found. `size` is in bytes. `findings` are in the language `lang` and carry their incidents.
    """

    findings: tuple[Finding, ...]
    lang: str = "en"
    unusual: tuple[Evidence, ...] = ()
    files: Sequence[str] = ()
    size: int = 0
    lines: int = 0
    skipped: Mapping[str, Sequence[str]] = field(default_factory=dict)


def with_incidents(findings: Sequence[Finding], lang: str) -> tuple[Finding, ...]:
    """Return findings with the public incidents that looked the same."""
    return tuple(replace(finding, incidents=alike(finding, lang)) for finding in findings)


def forms() -> Mapping[str, Callable[[Answer], str]]:
    """Return the renderers that give text to write, by the name of their form."""
    from evenpace.report.answer import html, json, markdown, sarif

    return {
        "json": json.to_json,
        "markdown": markdown.to_markdown,
        "sarif": sarif.to_sarif,
        "html": html.to_html,
    }
