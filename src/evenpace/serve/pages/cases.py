"""The list of cases, and a case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from evenpace.checks.citing import citing
from evenpace.errors import Problem
from evenpace.library.catalogue import PAGE, Library, Result, Suggestion
from evenpace.library.facets import FACETS
from evenpace.library.judges import judges
from evenpace.library.similar import similar
from evenpace.serve.pages.paging import paged
from evenpace.serve.render import name, page, state_of
from evenpace.serve.state import State
from evenpace.terms import say

SHOWN = 8
FIELDS = ("symptom", "trigger", "cause", "detection", "actions", "follow_up", "lesson")


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a facet as a link: choosing it, or taking it back where it is chosen."""

    label: str
    count: int
    chosen: bool
    url: str


def router(library: Library) -> APIRouter:
    """Return the routes of the list and of the cases."""
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/library", methods=["GET", "HEAD"])
    def cases(request: Request) -> Response:
        state = state_of(request)
        result, pages = paged(library, state.query, state)
        return page(
            request,
            "list.html.j2",
            state,
            title=say("serve-title", state.lang),
            result=result,
            pages=pages,
            first=(state.page - 1) * PAGE + 1,
            everything=len(library.incidents),
            choices={facet: list(choices(result, state, facet)) for facet in FACETS},
            chips=list(chips(state, "/library")),
            suggested=[(one, _suggestion(one, state)) for one in result.recommended],
            shown=SHOWN,
        )

    @routes.api_route("/library/{id_}", methods=["GET", "HEAD"])
    def case(request: Request, id_: str) -> Response:
        state = state_of(request)
        try:
            incident = library.get(id_)
        except Problem as error:
            raise HTTPException(404, say("serve-no-case", state.lang)) from error
        if incident.id != id_:
            return RedirectResponse(state.cleared().url(f"/library/{incident.id}"), 308)
        return page(
            request,
            "case.html.j2",
            state,
            title=f"{incident.id} {incident.text(state.lang).title}".replace("`", ""),
            case=incident,
            text=incident.text(state.lang),
            fields=FIELDS,
            judges=judges(incident),
            checks=citing(incident.id),
            near=similar(library, incident),
        )

    return routes


def choices(result: Result, state: State, facet: str) -> Iterator[Choice]:
    """Yield the values of a facet: chosen ones first, then by number of cases (years: newest first)."""
    chosen = state.query.filters.get(facet, ())
    counts = dict.fromkeys(chosen, 0) | result.counts[facet]
    newest = facet == "year"
    ordered = sorted(
        counts.items(),
        key=lambda one: (
            one[0] not in chosen,
            -int(one[0]) if newest and one[0].isdigit() else -one[1],
            one[0],
        ),
    )
    for value, count in ordered:
        picked = value in chosen
        then = state.without(facet, value) if picked else state.with_value(facet, value)
        yield Choice(name(facet, value, state.lang), count, picked, then.url("/library"))


def chips(state: State, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield what narrows the page at `path` as (facet, label, address without it)."""
    if state.query.text:
        yield "q", state.query.text, state.without_words().url(path)
    for facet, values in state.query.filters.items():
        for value in values:
            yield facet, name(facet, value, state.lang), state.without(facet, value).url(path)


def _suggestion(one: Suggestion, state: State) -> tuple[str, str]:
    return name(one.facet, one.value, state.lang), state.with_value(one.facet, one.value).url("/library")
