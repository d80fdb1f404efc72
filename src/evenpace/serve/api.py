"""The read-only JSON API: the library's answers under /api, described in full by the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Annotated, Any, Literal, get_args

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field

from evenpace.checks.citing import citing
from evenpace.errors import Problem
from evenpace.library import catalogue
from evenpace.library import facets as library_facets
from evenpace.library.catalogue import PAGE, Library
from evenpace.library.clauses import LONGEST_QUERY
from evenpace.library.facets import members
from evenpace.library.graph import graph
from evenpace.library.judges import judges, judges_of
from evenpace.library.records import FACETS, Incident, Scope
from evenpace.library.similar import similar
from evenpace.serve import answers
from evenpace.serve.answers import Refused
from evenpace.serve.state import LAST_PAGE, MOST_VALUES
from evenpace.terms import Term, UnknownTerm, facets, term

MOST_PER_PAGE = 100
# Each operation can also answer with these; the last two come from what stands before the site.
REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Refused, "description": "A value that cannot be, such as an unknown term or Host."},
    401: {"model": Refused, "description": "The site needs its token, and the request does not show it."},
    413: {"model": Refused, "description": "The request has a body, and a large one."},
    414: {"model": Refused, "description": "The address is longer than 8 KiB."},
    422: {"model": Refused, "description": "A parameter is not of its type, or beyond its limits."},
}
MISSING: dict[int | str, dict[str, Any]] = {404: {"model": Refused, "description": "There is no such thing."}}


_SCOPES = get_args(Scope)
_ANY_SCOPE = "|".join(_SCOPES)
# Each may also be several with commas between.
_Slugs = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,64}( *, *[a-z0-9-]{1,64})*$", max_length=2000)]
_Years = Annotated[str, Field(pattern=r"^[0-9]{4}( *, *[0-9]{4})*$", max_length=400)]
_Scopes = Annotated[str, Field(pattern=rf"^({_ANY_SCOPE})( *, *({_ANY_SCOPE}))*$", max_length=400)]
_Names = Annotated[str, Field(min_length=1, max_length=400)]
_Lang = Annotated[
    Literal["en", "ko"] | None, Field(description="Answer in this language only; without it in both.")
]


def _chosen(what: str, example: str, values: Iterable[str] = ()) -> Any:
    """Describe a facet's parameter, whose values are `values` where these are known."""
    known: dict[str, Any] = {"items": {"type": "string", "enum": list(values)}} if values else {}
    told = f"{what}; repeat it or put commas between for alternatives."
    return Field(
        default_factory=list,
        max_length=MOST_VALUES,
        description=told,
        examples=[[example]],
        json_schema_extra=known,
    )


class Asked(BaseModel):
    """Hold the words and filters of a request: alternatives within a facet, facets narrow each other."""

    q: str = Field(
        "", max_length=LONGEST_QUERY, description="Words, in either language.", examples=["Xid 79"]
    )
    cause: list[_Slugs] = _chosen("Terms of the cause", "link-fault", facets()["cause"])
    component: list[_Slugs] = _chosen("Terms of the component", "nccl", facets()["component"])
    symptom: list[_Slugs] = _chosen("Terms of the symptom", "hang", facets()["symptom"])
    factor: list[_Slugs] = _chosen("Terms of contributing factors", "new-stack", facets()["factor"])
    organisation: list[_Names] = _chosen("Names of organisations", "Meta")
    year: list[_Years] = _chosen("Years", "2024")
    scope: list[_Scopes] = _chosen("What was run", "training", _SCOPES)
    lang: _Lang = None

    def query(self) -> catalogue.Query:
        """Return the query; raises Problem for a term that the vocabulary does not have."""
        filters: dict[str, tuple[str, ...]] = {}
        for facet in library_facets.FACETS:
            values = (value.strip() for text in getattr(self, facet) for value in text.split(","))
            if chosen := tuple(dict.fromkeys(value for value in values if value)):
                filters[facet] = chosen
        for facet in FACETS:
            _known(facet, filters.get(facet, ()))
        return catalogue.Query(self.q.strip(), filters)


class AskedPage(Asked):
    """Hold also which page of the answer is wanted."""

    page: int = Field(1, ge=1, le=LAST_PAGE, description="From 1; beyond the last page there are no items.")
    per_page: int = Field(PAGE, ge=1, le=MOST_PER_PAGE, description="Cases a page.")


class PlainErrors(APIRoute):
    """Answer bad input with `{"detail": "one line"}`, whatever handlers the app has."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        answer = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await answer(request)
            except RequestValidationError as error:
                return _refused(422, "; ".join(_flaw(one) for one in error.errors()[:5]))
            except Problem as problem:
                return _refused(400, str(problem))
            except HTTPException as refusal:
                return _refused(refusal.status_code, str(refusal.detail))

        return handler


def router(library: Library) -> APIRouter:
    """Return the routes under /api."""
    api = APIRouter(prefix="/api", route_class=PlainErrors, responses=REFUSALS, tags=["incidents"])
    _add_cases(api, library)
    _add_terms(api, library)
    _add_overviews(api, library)
    return api


def _add_cases(api: APIRouter, library: Library) -> None:
    @api.get("/incidents", response_model_exclude_none=True)
    def list_incidents(asked: Annotated[AskedPage, Query()]) -> answers.CaseList:
        """Find cases by words and filters, with how many cases each further filter would leave.

        The counts of a facet ignore its own filter: they say what another choice would give.
        """
        offset = (asked.page - 1) * asked.per_page
        found = library.search(asked.query(), offset=offset, limit=asked.per_page)
        return answers.case_list(found, asked.page, asked.per_page, asked.lang)

    @api.get("/incidents/{id}", response_model_exclude_none=True, responses=MISSING)
    def read_incident(
        id: Annotated[str, Path(pattern="^[Ii][Ll]-[0-9]{4}$", examples=["IL-0025"])],  # noqa: A002
        lang: Annotated[_Lang, Query()] = None,
    ) -> answers.CaseAnswer:
        """Read one case in full, with the cases that are alike and what of evenpace would have caught it.

        The id of a case that was merged into another answers with that other case.
        """
        incident = _found(lambda: library.get(id))
        return answers.case(incident, similar(library, incident), judges(incident), citing(incident.id), lang)


def _add_terms(api: APIRouter, library: Library) -> None:
    @api.get("/terms", response_model_exclude_none=True)
    def list_terms(lang: Annotated[_Lang, Query()] = None) -> answers.TermList:
        """List the vocabulary that cases are described with, and how many cases carry each term."""
        known = (one for facet in FACETS for one in facets()[facet].values())
        return answers.TermList(
            items=[answers.term_answer(one, _carried(library, one).bit_count(), lang) for one in known]
        )

    @api.get("/terms/{facet}/{slug}", response_model_exclude_none=True, responses=MISSING)
    def read_term(
        facet: Annotated[str, Path(max_length=64, examples=["symptom"])],
        slug: Annotated[str, Path(max_length=64, examples=["hang"])],
        lang: Annotated[_Lang, Query()] = None,
    ) -> answers.TermPage:
        """Read one term: what it is, the cases that carry it, and what of evenpace looks for it."""
        one = facets()[facet].get(slug) if facet in FACETS else None
        if one is None:
            raise HTTPException(404, f"there is no term {facet[:40]}/{slug[:40]}; /api/terms lists them")
        cases = [library.incidents[row] for row in members(_carried(library, one))]
        return answers.term_page(one, cases, judges_of(facet, slug), lang)


def _add_overviews(api: APIRouter, library: Library) -> None:
    @api.get("/graph", response_model_exclude_none=True)
    def read_graph(asked: Annotated[Asked, Query()]) -> answers.GraphAnswer:
        """Read which terms occur together in the cases that match, and how much more often than by chance."""
        return answers.graph_answer(graph(library, asked.query()), asked.lang)

    @api.get("/stats")
    def read_stats() -> answers.Stats:
        """Count the whole library: by verification, kind, scope, year, organisation and term."""
        counts = library.facets.counts(library.facets.everything, {})
        return answers.Stats(
            total=len(library.incidents),
            verified=_tally(library, "verified"),
            kind=_tally(library, "kind"),
            scope=counts["scope"],
            year=counts["year"],
            organisation=counts["organisation"],
            facets={facet: counts[facet] for facet in FACETS},
        )


def _known(facet: str, slugs: Iterable[str]) -> None:
    for slug in slugs:
        try:
            term(facet, slug)
        except UnknownTerm as error:
            raise Problem(str(error)) from error


def _found(get: Callable[[], Incident]) -> Incident:
    try:
        return get()
    except Problem as problem:
        raise HTTPException(404, str(problem)) from problem


def _carried(library: Library, one: Term) -> int:
    """Return the rows of the cases that carry a term."""
    return library.facets.bits[one.facet].get(one.slug, 0)


def _tally(library: Library, name: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for incident in library.incidents:
        value = getattr(incident, name)
        found[value] = found.get(value, 0) + 1
    return dict(sorted(found.items()))


def _flaw(error: dict[str, Any]) -> str:
    where = ".".join(str(part) for part in error["loc"][1:])
    return f"{where[:40]}: {error['msg']}"


def _refused(status: int, detail: str) -> Response:
    return JSONResponse({"detail": detail}, status)
