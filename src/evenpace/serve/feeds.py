"""An answer as an Atom feed, as JSON lines and as CSV: the same parameters as the list's."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from evenpace.library.catalogue import Library
from evenpace.library.export import csv, jsonl
from evenpace.library.facets import members
from evenpace.library.records import Incident
from evenpace.serve.render import state_of
from evenpace.serve.state import State
from evenpace.terms import say

NEWEST = 50
_ATOM = "http://www.w3.org/2005/Atom"


def router(library: Library) -> APIRouter:
    """Return the routes of the feed and of the downloads."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/feed.atom")
    def feed(request: Request) -> Response:
        state = state_of(request)
        text = atom(_found(library, state)[:NEWEST], state, str(request.base_url).rstrip("/"))
        return Response(text, media_type="application/atom+xml")

    @routes.get("/export.jsonl")
    def lines(request: Request) -> Response:
        return _download(jsonl(_found(library, state_of(request))), "application/jsonl", "incidents.jsonl")

    @routes.get("/export.csv")
    def table(request: Request) -> Response:
        state = state_of(request)
        return _download(csv(_found(library, state), state.lang), "text/csv", f"incidents-{state.lang}.csv")

    return routes


def atom(incidents: list[Incident], state: State, home: str) -> bytes:
    """Return the feed: ids never change, times are those of the data (the year's first day)."""
    ET.register_namespace("", _ATOM)
    feed = ET.Element(f"{{{_ATOM}}}feed", {"{http://www.w3.org/XML/1998/namespace}lang": state.lang})
    newest = max((one.year for one in incidents), default=1970)
    _put(feed, "id", f"urn:evenpace:incidents:{state.url('')}")
    _put(feed, "title", f"evenpace: {say('serve-title', state.lang)}")
    _put(feed, "updated", f"{newest}-01-01T00:00:00Z")
    _put(ET.SubElement(feed, f"{{{_ATOM}}}author"), "name", "evenpace")
    _link(feed, "self", home + state.url("/feed.atom"))
    _link(feed, "alternate", home + state.url("/library"))
    for one in incidents:
        entry = ET.SubElement(feed, f"{{{_ATOM}}}entry")
        text = one.text(state.lang)
        _put(entry, "id", f"urn:evenpace:incident:{one.id}")
        _put(entry, "title", f"{one.id} {text.title}")
        _put(entry, "updated", f"{one.year}-01-01T00:00:00Z")
        _put(entry, "summary", text.symptom)
        _link(entry, "alternate", f"{home}/library/{one.id}?lang={state.lang}")
    return bytes(ET.tostring(feed, encoding="utf-8", xml_declaration=True))


def _found(library: Library, state: State) -> list[Incident]:
    """Return all cases of the answer, newest first."""
    return [library.incidents[row] for row in members(library.matching(state.query))]


def _put(parent: ET.Element, name: str, text: str) -> None:
    kept = "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")
    ET.SubElement(parent, f"{{{_ATOM}}}{name}").text = kept


def _link(parent: ET.Element, rel: str, url: str) -> None:
    ET.SubElement(parent, f"{{{_ATOM}}}link", {"rel": rel, "href": url})


def _download(rows: Iterator[str], media_type: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(rows, media_type=f"{media_type}; charset=utf-8", headers=headers)
