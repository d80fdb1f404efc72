"""The library and the list of checks, as the tools answer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from evenpace.checks.catalogue import checks, find
from evenpace.checks.citing import citing
from evenpace.library.catalogue import Library, Query
from evenpace.library.records import FACETS
from evenpace.library.records import Incident as Record
from evenpace.library.similar import similar
from evenpace.mcp import answers
from evenpace.mcp.paging import fitting, offset, size
from evenpace.report.audit.about import about

PER_PAGE = 25  # incidents


def check_list(family: str, cursor: str, lang: str) -> answers.CheckList:
    """Return a page of the checks; raises Problem."""
    lines = [
        answers.CheckLine(
            id=one.id,
            family=one.family,
            severity=one.content.severity,
            title=one.content.title.say(lang, {}),
        )
        for one in checks().values()
        if family in ("", one.family)
    ]
    start = offset(cursor, len(lines))
    end = fitting([size(one) for one in lines], start)
    further = str(end) if end < len(lines) else None
    return answers.CheckList(total=len(lines), items=lines[start:end], cursor=further)


def explained(id_: str, lang: str) -> answers.Explained:
    """Return what a check looks for and why; raises Problem."""
    return answers.Explained.model_validate(about(find(id_), lang))


def incident_list(
    text: str, filters: Mapping[str, Sequence[str]], cursor: str, lang: str
) -> answers.IncidentList:
    """Return a page of the incidents that match; raises Problem."""
    query = Query(text.strip(), {facet: tuple(chosen) for facet, chosen in filters.items() if chosen})
    start = offset(cursor, len(library().incidents))
    result = library().search(query, offset=start, limit=PER_PAGE)
    lines = [answers.IncidentLine.model_validate(_line(one, lang)) for one in result.incidents]
    end = start + fitting([size(one) for one in lines], 0)
    return answers.IncidentList(
        total=result.total,
        items=lines[: end - start],
        narrow_by=[
            answers.Filter(facet=one.facet, value=one.value, count=one.count) for one in result.recommended
        ],
        cursor=str(end) if end < result.total and lines else None,
    )


def incident(id_: str, lang: str) -> answers.Incident:
    """Return one incident; raises Problem."""
    one = library().get(id_)
    text = one.text(lang)
    told = {name: getattr(text, name) for name in ("symptom", "trigger", "cause", "detection", "lesson")}
    return answers.Incident.model_validate(
        {
            **_line(one, lang),
            **told,
            "actions": list(text.actions),
            "follow_up": list(text.follow_up),
            "sources": [{"title": source.title, "url": source.url} for source in one.sources],
            "similar": [
                {"id": near.incident.id, "title": near.incident.text(lang).title, "why": near.why(lang)}
                for near in similar(library(), one)
            ],
            "checks": [
                {
                    "id": check.id,
                    "title": check.content.title.say(lang, {}),
                    "why": cited.ko if lang == "ko" else cited.en,
                }
                for check, cited in citing(one.id)
            ],
        }
    )


@cache
def library() -> Library:
    """Return the library, read on first use."""
    return Library.open()


def _line(one: Record, lang: str) -> dict[str, object]:
    return {
        **{name: getattr(one, name) for name in ("id", "organisation", "year", "scope", "kind", "verified")},
        "title": one.text(lang).title,
        "terms": {facet: list(getattr(one.terms, facet)) for facet in FACETS},
    }
