"""Cases for tests: a small one to vary, and random libraries."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from evenpace.library.catalogue import Library
from evenpace.library.records import FACETS, Incident
from evenpace.terms import facets

CASE: dict[str, Any] = {
    "id": "IL-0001",
    "organisation": "Example",
    "year": 2024,
    "scope": "training",
    "kind": "incident",
    "verified": "opened",
    "terms": {"cause": ["unknown"], "component": ["nccl"], "symptom": ["hang"]},
    "sources": [{"url": "https://example.org/report", "title": "Example, report"}],
    "en": {"title": "A job stopped", "symptom": "Nothing moved."},
    "ko": {"title": "작업이 멈췄다", "symptom": "아무것도 움직이지 않았다."},
}


def incident(number: int = 1, **fields: Any) -> Incident:
    """Return a case with some fields set; texts are merged into the small case's."""
    merged = CASE | {"id": f"IL-{number:04d}"} | fields
    for lang in ("en", "ko"):
        merged[lang] = CASE[lang] | fields.get(lang, {})
    merged["terms"] = CASE["terms"] | fields.get("terms", {})
    return msgspec.convert(merged, Incident)


def _terms() -> st.SearchStrategy[dict[str, list[str]]]:
    some = {facet: sorted(facets()[facet])[:5] for facet in FACETS}
    return st.fixed_dictionaries(
        {facet: st.lists(st.sampled_from(of), max_size=3, unique=True) for facet, of in some.items()}
    )


def libraries() -> st.SearchStrategy[Library]:
    """Generate libraries of up to 30 cases with random terms, years, scopes and words."""
    words = st.lists(st.sampled_from(["loss", "spike", "NCCL", "학습", "장애", "사전학습"]), max_size=3).map(
        " ".join
    )
    cases = st.lists(
        st.tuples(
            _terms(),
            st.integers(2020, 2023),
            st.sampled_from(["training", "k8s", "hpc"]),
            st.sampled_from(["A", "B", "C"]),
            words,
        ),
        max_size=30,
    )
    return cases.map(
        lambda drawn: Library(
            incident(n, terms=terms, year=year, scope=scope, organisation=who, en={"symptom": f"x {text}"})
            for n, (terms, year, scope, who, text) in enumerate(drawn, 1)
        )
    )
