"""The graph of terms and cases: drawn where there is JavaScript, as tables always."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from evenpace.library.catalogue import Library
from evenpace.library.graph import Edge, Graph, Node, graph
from evenpace.library.records import FACETS as OF_TERMS
from evenpace.report.page import harmless
from evenpace.serve.pages.cases import chips
from evenpace.serve.render import name, page, state_of
from evenpace.serve.state import State
from evenpace.terms import say

_DRAWN, _LISTED, _FIRST = 120, 40, 12


def router(library: Library) -> APIRouter:
    """Return the route of the graph."""
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/graph", methods=["GET", "HEAD"])
    def show(request: Request) -> Response:
        state = state_of(request)
        made = graph(library, state.query)
        return page(
            request,
            "graph.html.j2",
            state,
            title=say("serve-graph", state.lang),
            graph=made,
            nodes=[(node, name(node.facet, node.slug, state.lang), _url(node, state)) for node in made.nodes],
            edges=[
                (edge, _end(edge.one, state), _end(edge.other, state)) for edge in _telling(made)[:_LISTED]
            ],
            data=harmless(_drawing(made, state)),
            everything=len(library.incidents),
            first=_FIRST,
            chips=list(chips(state, "/graph")),
        )

    return routes


def _url(node: Node, state: State) -> str:
    return state.with_value(node.facet, node.slug).url("/graph")


def _end(key: str, state: State) -> tuple[str, str, str]:
    facet, _, slug = key.partition(":")
    return facet, name(facet, slug, state.lang), f"/terms/{facet}/{slug}?lang={state.lang}"


def _telling(made: Graph) -> list[Edge]:
    """Leave out ties with a term that all cases carry, such as one that was filtered by."""
    return [edge for edge in made.edges if edge.lift != 1]


def _drawing(made: Graph, state: State) -> dict[str, Any]:
    """Return nodes and edges as cytoscape takes them."""
    edges = [
        {
            "id": f"{edge.one}|{edge.other}",
            "source": edge.one,
            "target": edge.other,
            "count": edge.count,
            "lift": edge.lift,
        }
        for edge in _telling(made)[:_DRAWN]
    ]
    tied = {key for edge in _telling(made)[:_DRAWN] for key in (edge.one, edge.other)}
    nodes = [
        {
            "id": node.key,
            "label": name(node.facet, node.slug, state.lang),
            "kind": node.facet,
            "count": node.count,
            "url": _url(node, state),
        }
        for node in made.nodes
        if node.key in tied or made.cases
    ]
    return {"nodes": [*nodes, *_cases(made, state)], "edges": [*edges, *_carried(made)]}


def _cases(made: Graph, state: State) -> Iterator[dict[str, Any]]:
    for one in made.cases:
        url = state.cleared().url(f"/library/{one.id}")
        yield {
            "id": one.id,
            "label": one.id,
            "title": one.text(state.lang).title,
            "kind": "case",
            "count": 1,
            "url": url,
        }


def _carried(made: Graph) -> Iterator[dict[str, Any]]:
    for one in made.cases:
        for facet in OF_TERMS:
            for slug in getattr(one.terms, facet):
                key = f"{facet}:{slug}"
                yield {"id": f"{one.id}|{key}", "source": one.id, "target": key, "count": 1, "lift": 1}
