"""The operations of the API, read from its OpenAPI document."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import Response

from evenpace.serve.render import page, state_of
from evenpace.terms import say


def router() -> APIRouter:
    """Return the route of the page."""
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/api", methods=["GET", "HEAD"])
    def operations(request: Request) -> Response:
        state = state_of(request)
        app: FastAPI = request.app
        paths = app.openapi()["paths"]
        found = [(method.upper(), path, one) for path, of in paths.items() for method, one in of.items()]
        return page(request, "api.html.j2", state, title=say("serve-api", state.lang), operations=found)

    return routes
