"""The audit as one page of HTML: self-contained, without scripts, safe whatever the cluster holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup, escape

from evenpace.checks.telling import reason
from evenpace.report.answer.html import TEMPLATES as OF_ANSWERS
from evenpace.report.audit import Audit
from evenpace.report.audit.groups import beside, groups, sources, undecided, verdict
from evenpace.report.page import dressed, templates
from evenpace.terms import say
from evenpace.terms.spelling import line

_TEMPLATES = Path(__file__).parent.parent / "templates"
_TICKED = re.compile("`([^`]+)`")
_CODE = Markup("<code>{}</code>")
OPEN = 4  # subjects of a check that stand open
MOST_SUBJECTS = 200  # of a check on the page


def render(audit: Audit) -> Iterator[str]:
    """Yield the page."""
    yield (
        _environment()
        .get_template("audit.html.j2")
        .render(
            lang=audit.lang,
            t=lambda key, **details: say(key, audit.lang, **details),
            **dressed(OF_ANSWERS / "answer.css", _TEMPLATES / "audit.css"),
            sources=sources(audit),
            verdict=verdict(audit),
            failing=bool(audit.failing()),
            counts={outcome.value: count for outcome, count in audit.counts().items() if count},
            groups=groups(audit),
            beside=beside(audit),
            undecided=undecided(audit),
            checks=_checks(audit),
            open=OPEN,
            most=MOST_SUBJECTS,
        )
    )


def _checks(audit: Audit) -> list[dict[str, str | int]]:
    """Return a row for each check that ran, whatever it said."""
    return [
        {
            "id": result.check.id,
            "severity": result.check.content.severity.value,
            "outcome": result.outcome.value,
            "title": line(result.check.content.title.say(audit.lang, {})),
            "reason": reason(result, audit.lang),
            "looked_at": result.looked_at,
        }
        for result in audit.results
    ]


def _prose(text: str) -> Markup:
    """Return text with its `code` as code; all else in it is text."""
    parts = (escape(part) if n % 2 == 0 else _CODE.format(part) for n, part in enumerate(_TICKED.split(text)))
    return Markup("").join(parts)


@cache
def _environment() -> Environment:
    made = templates(_TEMPLATES)
    made.filters["prose"] = _prose
    return made
