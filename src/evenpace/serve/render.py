"""One page of HTML: a template, a state and the words of its language; everything is escaped."""

from __future__ import annotations

import re
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from evenpace import __version__
from evenpace.library import records
from evenpace.library.export import term_name
from evenpace.library.facets import FACETS
from evenpace.report.page import templates
from evenpace.serve.state import State, preferred, read_state
from evenpace.terms import LANGUAGES, say

HERE = Path(__file__).parent
_CODE = re.compile(r"`([^`\n]{1,300})`")


def state_of(request: Request) -> State:
    """Read what a request asks for, in its language or else the browser's; raises Problem."""
    return read_state(request.query_params.multi_items(), lang=language_of(request))


def language_of(request: Request) -> str:
    """Return the language asked for, else the browser's; never raises, for pages of errors."""
    asked = request.query_params.get("lang", "")
    return asked if asked in LANGUAGES else preferred(request.headers.get("accept-language", ""))


def page(
    request: Request, template: str, state: State, *, title: str, status: int = 200, **content: Any
) -> HTMLResponse:
    """Render `template`; `title` is what the browser's tab says."""
    text = (
        _environment()
        .get_template(template)
        .render(
            t=partial(_sentence, "serve", state.lang),
            lib=partial(_sentence, "library", state.lang),
            name=partial(name, lang=state.lang),
            lang=state.lang,
            state=state,
            title=title,
            path=request.url.path,
            here={lang: _same_page(request, lang) for lang in LANGUAGES},
            facets=FACETS,
            vocabulary=records.FACETS,
            version=__version__,
            **content,
        )
    )
    return HTMLResponse(text, status, headers={"Content-Language": state.lang, "Vary": "Accept-Language"})


def name(facet: str, value: str, lang: str) -> str:
    """Return what a value of a facet is called."""
    if facet in records.FACETS:
        return term_name(facet, value, lang)
    return say(f"library-scope-{value}", lang) if facet == "scope" else value


def _same_page(request: Request, lang: str) -> str:
    kept = [(key, value) for key, value in request.query_params.multi_items() if key != "lang"]
    return f"{request.url.path}?{urlencode([*kept, ('lang', lang)], errors='replace')}"


def _sentence(owner: str, lang: str, key: str, **details: object) -> str:
    return say(f"{owner}-{key}", lang, **details)


def _prose(text: str) -> Markup:
    """Escape a text and show what stands in backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704  escaped first


@cache
def _environment() -> Environment:
    environment = templates(HERE / "templates")
    environment.filters["prose"] = _prose
    return environment
