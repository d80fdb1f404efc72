"""The library that comes with evenpace: complete, found as its users expect."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from evenpace.library.catalogue import Library, Query, files, home
from evenpace.library.records import FACETS
from evenpace.library.validate import validate
from evenpace.terms import facets

QUERIES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("queries.toml").read_text("utf-8"))[
    "query"
]
SEEDS = {"IL-0004", "IL-0025", "IL-0048", "IL-0129", "IL-0146", "IL-0147"}


def test_enough_cases_are_published_and_none_has_a_flaw(real: Library) -> None:
    assert len(real.incidents) >= 150
    assert [str(flaw) for flaw in validate(files(home()))] == []


def test_the_six_cases_of_the_seed_pages_are_there_in_detail(real: Library) -> None:
    for id_ in SEEDS:
        assert len(real.get(id_).ko.actions) >= (1 if id_ == "IL-0147" else 2)


def test_the_filter_of_the_seed_page(real: Library) -> None:
    chosen = {"component": ("gpu-hw",), "symptom": ("gpu-not-visible",), "factor": ("monitoring-blind-spot",)}
    assert [one.id for one in real.search(Query("", chosen)).incidents] == ["IL-0146", "IL-0004"]


@pytest.mark.parametrize("facet", FACETS)
def test_every_term_has_a_case(real: Library, facet: str) -> None:
    assert set(facets()[facet]) - set(real.facets.bits[facet]) == set()


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query["text"])
def test_a_query_finds_what_it_must(real: Library, query: dict[str, Any]) -> None:
    found = {one.id for one in real.search(Query(query["text"]), limit=1000).incidents}
    assert set(query["finds"]) - found == set()
    assert set(query.get("never", ())) & found == set()


def test_the_table_of_queries_is_long_enough() -> None:
    assert len(QUERIES) >= 37
    assert sum(any("가" <= letter <= "힣" for letter in query["text"]) for query in QUERIES) >= 25
