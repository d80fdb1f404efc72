"""The answer as one page of HTML: self-contained, without scripts, safe whatever the logs hold."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from evenpace.report.answer import Answer, card
from evenpace.report.answer.text import closing
from evenpace.report.page import templates
from evenpace.report.words import evidence
from evenpace.terms import say

TEMPLATES = Path(__file__).parent.parent / "templates"


def to_html(answer: Answer) -> str:
    """Render the page."""
    style = (TEMPLATES / "answer.css").read_text(encoding="utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return (
        _environment()
        .get_template("answer.html.j2")
        .render(
            lang=answer.lang,
            t=lambda key, **details: say(key, answer.lang, **details),
            style=Markup(style),  # noqa: S704  our own file
            policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
            cards=[card(finding, answer.lang) for finding in answer.findings],
            unusual=[evidence(item, answer.lang) for item in answer.unusual],
            closing=closing(answer),
            library="",
        )
    )


@cache
def _environment() -> Environment:
    return templates(TEMPLATES)
