"""The terms by facet, and a term with its cases."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from evenpace.library import records
from evenpace.library.catalogue import Library, Query
from evenpace.library.graph import graph
from evenpace.library.judges import judges_of
from evenpace.serve.pages.paging import paged
from evenpace.serve.render import page, state_of
from evenpace.terms import UnknownTerm, facets, say, term

_RELATED = 10


def router(library: Library) -> APIRouter:
    """Return the routes of the terms."""
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/terms", methods=["GET", "HEAD"])
    def all_terms(request: Request) -> Response:
        state = state_of(request)
        known = facets()
        found = {
            facet: [
                (one, library.facets.bits[facet].get(one.slug, 0).bit_count())
                for one in known[facet].values()
            ]
            for facet in records.FACETS
        }
        return page(request, "terms.html.j2", state, title=say("serve-terms", state.lang), terms=found)

    @routes.api_route("/terms/{facet}/{slug}", methods=["GET", "HEAD"])
    def one_term(request: Request, facet: str, slug: str) -> Response:
        state = state_of(request)
        if facet not in records.FACETS:
            raise HTTPException(404, say("serve-no-page", state.lang))
        try:
            one = term(facet, slug[:64])
        except UnknownTerm as error:
            raise HTTPException(404, say("serve-no-term", state.lang)) from error
        result, pages = paged(library, Query("", {facet: (slug,)}), state)
        return page(
            request,
            "term.html.j2",
            state,
            title=one.ko if state.lang == "ko" else one.en,
            term=one,
            result=result,
            pages=pages,
            related=_related(library, f"{facet}:{slug}"),
            judges=judges_of(facet, slug),
        )

    return routes


def _related(library: Library, key: str) -> list[tuple[str, str, int, float]]:
    """Return the terms that go with a term more often than by chance: facet, slug, cases, lift."""
    edges = [edge for edge in graph(library, Query(), most=100_000).edges if key in (edge.one, edge.other)]
    edges.sort(key=lambda edge: (-edge.lift, -edge.count))
    found: list[tuple[str, str, int, float]] = []
    for edge in edges:
        facet, _, slug = (edge.other if edge.one == key else edge.one).partition(":")
        if edge.lift > 1:
            found.append((facet, slug, edge.count, edge.lift))
    return found[:_RELATED]
