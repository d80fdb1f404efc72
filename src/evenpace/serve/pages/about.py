"""What the library is, and how far its cases were verified."""

from __future__ import annotations

from collections import Counter

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from evenpace.library.catalogue import Library
from evenpace.serve.render import page, state_of
from evenpace.terms import say


def router(library: Library) -> APIRouter:
    """Return the route of the page."""
    routes = APIRouter(include_in_schema=False)
    counts = {
        "verified": Counter(one.verified for one in library.incidents),
        "kind": Counter(one.kind for one in library.incidents),
        "scope": Counter(one.scope for one in library.incidents),
        "year": Counter(str(one.year) for one in library.incidents),
    }

    @routes.api_route("/about", methods=["GET", "HEAD"])
    def about(request: Request) -> Response:
        state = state_of(request)
        title = say("serve-about", state.lang)
        size = len(library.incidents)
        return page(request, "about.html.j2", state, title=title, counts=counts, everything=size)

    return routes
