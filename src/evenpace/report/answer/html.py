"""The answer as one page of HTML: self-contained, without scripts, safe whatever the logs hold."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment

from evenpace.report.answer import Answer, card
from evenpace.report.answer.text import closing
from evenpace.report.page import dressed, templates
from evenpace.report.words import evidence
from evenpace.terms import say

TEMPLATES = Path(__file__).parent.parent / "templates"


def to_html(answer: Answer) -> str:
    """Render the page."""
    return (
        _environment()
        .get_template("answer.html.j2")
        .render(
            lang=answer.lang,
            t=lambda key, **details: say(key, answer.lang, **details),
            **dressed(TEMPLATES / "answer.css"),
            cards=[card(finding, answer.lang) for finding in answer.findings],
            unusual=[evidence(item, answer.lang) for item in answer.unusual],
            closing=closing(answer),
            library="",
        )
    )


@cache
def _environment() -> Environment:
    return templates(TEMPLATES)
