"""The diagnosis of logs: a form to drop them in, and its answer, linked to the library."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from fastapi import APIRouter
from jinja2 import Environment
from markupsafe import Markup
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from evenpace import report
from evenpace.findings import Finding
from evenpace.library.catalogue import Library, Query
from evenpace.library.facets import Filters
from evenpace.library.judges import judge_of
from evenpace.library.records import FACETS
from evenpace.report.answer import Answer, card, forms
from evenpace.report.answer.text import closing
from evenpace.report.page import templates
from evenpace.report.view import Card
from evenpace.report.words import evidence
from evenpace.serve.api_diagnose import AGAIN
from evenpace.serve.desk import Desk
from evenpace.serve.receiving import LOGS, TEXT, Turned, limits
from evenpace.serve.render import page, state_of
from evenpace.serve.security import LARGEST_UPLOAD
from evenpace.serve.state import State
from evenpace.terms import say

# How an answer can be saved: the form's name, what people call it, the file's ending, the type.
SAVED = (
    ("json", "JSON", "json", "application/json"),
    ("markdown", "Markdown", "md", "text/markdown"),
    ("html", "HTML", "html", "text/html"),
)
# Narrowest first: the first that some case carries is where a fault's name leads.
_TOGETHER = (
    ("cause", "component", "symptom"),
    ("cause", "component"),
    ("cause", "symptom"),
    ("component", "symptom"),
    ("cause",),
    ("symptom",),
    ("component",),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer, ready for its page: `saved` are a name for people, one for the file, and the address."""

    cards: Markup
    saved: list[tuple[str, str, str]]


def router(library: Library, desk: Desk) -> APIRouter:
    """Return the routes of the page."""
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/diagnose", methods=["GET", "HEAD"])
    def form(request: Request) -> Response:
        return _form(request, state_of(request))

    @routes.post("/diagnose")
    async def answer(request: Request) -> Response:
        state = state_of(request)
        try:
            shown = await desk.answer(request, state.lang, lambda answer: _shown(library, answer))
        except Turned as refusal:
            return _form(request, state, refusal)
        except ClientDisconnect:
            return Response(status_code=400)
        title = say("serve-diagnose-result", state.lang)
        response = page(request, "diagnosis.html.j2", state, title=title, shown=shown)
        response.headers["Cache-Control"] = "no-store"
        return response

    return routes


def _form(request: Request, state: State, refusal: Turned | None = None) -> Response:
    response = page(
        request,
        "diagnose.html.j2",
        state,
        title=say("serve-diagnose", state.lang),
        status=refusal.status if refusal else 200,
        refusal=refusal.text(state.lang) if refusal else "",
        fields={"logs": LOGS, "text": TEXT},
        limits=limits(),
        most=LARGEST_UPLOAD,
    )
    response.headers.update(AGAIN if refusal and refusal.status == 503 else {})
    return response


def _shown(library: Library, answer: Answer) -> Shown:
    """Return an answer with its links and its files; the files are in their addresses, and nowhere else."""
    saved = [
        (label, f"evenpace-diagnosis.{ending}", _address(forms()[form](answer), kind))
        for form, label, ending, kind in SAVED
    ]
    return Shown(_cards(library, answer), saved)


def _address(text: str, kind: str) -> str:
    return f"data:{kind};charset=utf-8;base64,{b64encode(text.encode()).decode()}"


def _cards(library: Library, answer: Answer) -> Markup:
    text = (
        _environment()
        .get_template("answer_cards.html.j2")
        .render(
            t=lambda key, **details: say(key, answer.lang, **details),
            cards=[_card(library, finding, answer.lang) for finding in answer.findings],
            unusual=[evidence(item, answer.lang) for item in answer.unusual],
            closing=closing(answer),
            library="/library",
            lang=answer.lang,
        )
    )
    return Markup(text)  # noqa: S704  escaped by its template


def _card(library: Library, finding: Finding, lang: str) -> Card:
    """Return a finding's card, its fault a link to the cases of its terms."""
    shown = card(finding, lang)
    filters = filters_of(library, finding)
    if not filters:
        return shown
    url = State(Query("", filters), lang=lang).url("/library")
    return replace(shown, fault=Markup('<a href="{}">{}</a>').format(url, shown.fault))


def filters_of(library: Library, finding: Finding) -> Filters:
    """Return the narrowest filters by a finding's terms, or its fault's, that leave some case; else none."""
    wanted = {facet: tuple(getattr(finding.terms, facet)) for facet in FACETS}
    if judge := judge_of(finding.fault):
        wanted = {facet: wanted[facet] or tuple(judge.terms.get(facet, ())) for facet in FACETS}
    for facets in _TOGETHER:
        if all(wanted[facet] for facet in facets) and _cases(
            library, {facet: wanted[facet] for facet in facets}
        ):
            return {facet: wanted[facet] for facet in facets}
    return {}


def _cases(library: Library, filters: Filters) -> int:
    """Return the rows of the cases that filters leave."""
    rows = library.facets.everything
    for facet, slugs in filters.items():
        found = 0
        for slug in slugs:
            found |= library.facets.bits[facet].get(slug, 0)
        rows &= found
    return rows


@cache
def _environment() -> Environment:
    return templates(Path(report.__path__[0]) / "templates")
