"""The site: pages, API, feeds and files behind one guard."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from evenpace import __version__
from evenpace.errors import Problem
from evenpace.library.catalogue import Library
from evenpace.serve import api, api_diagnose, feeds, security
from evenpace.serve.desk import Desk
from evenpace.serve.pages import about, cases, diagnose, graph, operations, terms
from evenpace.serve.render import HERE, language_of, page
from evenpace.serve.security import LOOPBACK
from evenpace.serve.state import Refused, State
from evenpace.terms import say

DESCRIPTION = (
    "Public incidents of large training runs and GPU clusters, read-only, in English and Korean; "
    "and the diagnosis of logs, which are forgotten when the answer is sent."
)


def create_app(library: Library, *, token: str | None = None, hosts: frozenset[str] = LOOPBACK) -> FastAPI:
    """Return the site of a library; with a `token` only who knows it gets an answer."""
    app = FastAPI(
        title="evenpace incident library",
        version=__version__,
        description=DESCRIPTION,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    library.text  # noqa: B018  built now, not while the first visitor waits
    app.include_router(api.router(library))
    desk = Desk(library)
    app.include_router(api_diagnose.router(desk))
    app.include_router(feeds.router(library))
    for module in (cases, terms, graph, about):
        app.include_router(module.router(library))
    app.include_router(diagnose.router(library, desk))
    app.include_router(operations.router())
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    app.add_api_route("/", _home, include_in_schema=False, methods=["GET", "HEAD"])
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(HTTPException, _refused)
    security.install(app, token=token, hosts=hosts)
    return app


def _home(request: Request) -> Response:
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"/library{query}", 307)


async def _problem(request: Request, error: Exception) -> Response:
    api = request.url.path.startswith("/api/")
    told = error.text(language_of(request)) if isinstance(error, Refused) and not api else str(error)
    return _answer(request, 400, told)


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    lang = language_of(request)
    methods = (error.headers or {}).get("Allow", "GET")
    known = {404: say("serve-no-page", lang), 405: say("access-method", lang, methods=methods)}
    plain = error.detail in ("Not Found", "Method Not Allowed")
    detail = known.get(error.status_code, error.detail) if plain else error.detail
    return _answer(request, error.status_code, detail, error.headers)


def _answer(request: Request, status: int, detail: str, headers: object = None) -> Response:
    if request.url.path.startswith("/api/"):
        answer: Response = JSONResponse({"detail": detail}, status)
    else:
        state = State(lang=language_of(request))
        title = say("serve-error", state.lang, status=status)
        answer = page(request, "error.html.j2", state, title=title, status=status, detail=detail)
    answer.headers.update(headers if isinstance(headers, dict) else {})
    return answer
