"""The report as one page of HTML: self-contained, safe whatever the logs hold, useful without JavaScript."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from evenpace.report import chart as chart_
from evenpace.report import heat as heat_
from evenpace.report import view
from evenpace.report.page import harmless, templates
from evenpace.report.story import Story
from evenpace.report.timeline import timeline
from evenpace.report.verdict import outcome, state, verdict
from evenpace.report.words import clock
from evenpace.terms import say
from evenpace.terms.spelling import duration, line, percent

_HERE = Path(__file__).parent
_VENDOR = _HERE / "vendor" / "uplot"
_WORDS = (
    *("iteration", "incarnation", "no-data", "waited", "restart", "time", "iterations", "zoom"),
    *("in-force", "probe"),
)
_MOST_WORKERS = 512


def to_html(story: Story, lang: str) -> str:
    """Render the page."""
    style, script = _assets()
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            lang=lang,
            t=lambda key, **details: say(f"report-{key}", lang, **details),
            style=Markup(style),  # noqa: S704  our own files
            script=Markup(script),  # noqa: S704
            policy=_policy(style, script),
            **_content(story, lang),
        )
    )


def _content(story: Story, lang: str) -> dict[str, Any]:
    plot, heat = chart_.chart(story, lang), heat_.heat(story, lang)
    words = {word: say(f"report-js-{word}", lang) for word in _WORDS}
    data = {"plot": plot.data() if plot else None, "heat": heat.data() if heat else None, "words": words}
    return {
        "run": line(story.run.run) if story.run else "",
        "state": outcome(state(story), lang),
        "verdict": verdict(story, lang),
        "facts": view.facts(story, lang),
        "cards": view.cards(story, lang),
        "moments": [(clock(m.at), m.kind, m.text) for m in timeline(story, lang)],
        "starts": view.starts(story, lang),
        "workers": [asdict(row) for i in reversed(story.in_order()) for row in view.workers(i, lang)][
            :_MOST_WORKERS
        ],
        "plot": plot,
        "heat": heat,
        "heat_table": heat_.heat_table(story, lang),
        "data": harmless(data),
        "size": (chart_.WIDTH, chart_.HEIGHT),
    }


@cache
def _environment() -> Environment:
    environment = templates(_HERE / "templates")
    environment.filters["duration"] = duration
    environment.filters["percent"] = percent
    return environment


@cache
def _assets() -> tuple[str, str]:
    """Return the page's one style sheet and its one script."""
    licence = f"/*! uPlot:\n{_read(_VENDOR / 'LICENSE')}\n*/"
    style = [_read(_VENDOR / "uPlot.min.css"), _read(_HERE / "templates" / "report.css")]
    script = [licence, _read(_VENDOR / "uPlot.iife.min.js"), _read(_HERE / "templates" / "report.js")]
    return "\n".join(style), "\n".join(script)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return a content security policy that lets exactly our style and script run and nothing be fetched."""
    parts = (
        "default-src 'none'",
        f"style-src {_hash(style)}",
        f"script-src {_hash(script)}",
        "img-src data:",
    )
    return "; ".join((*parts, "base-uri 'none'", "form-action 'none'"))


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
