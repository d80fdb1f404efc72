"""The API: what it answers, and that nothing makes it fail (schemathesis against its own document)."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from tests.library.cases import incident
from tests.serve.client import Client

from evenpace.library.catalogue import Library, Query
from evenpace.serve.app import create_app

HOST = {"host": "localhost"}
# The whole address has a limit of its own: 414 is a right answer to valid and to invalid values.
CONFIG = schemathesis.Config.from_dict(
    {
        "checks": {
            "positive_data_acceptance": {"expected-statuses": ["2xx", "404", "414"]},
            "negative_data_rejection": {"expected-statuses": ["400", "404", "405", "414", "422"]},
        },
        # Made-up bytes and text are seldom a log that can be read: 400 is a right answer. And whatever breaks
        # the form's description (null for a text) is sent as text, which is right again.
        "operations": [
            {
                "include-path": "/api/diagnose",
                "checks": {
                    "positive_data_acceptance": {"expected-statuses": ["2xx", "400", "414"]},
                    "negative_data_rejection": {"enabled": False},
                },
            }
        ],
    }
)
schema = schemathesis.openapi.from_asgi(
    "/api/openapi.json", create_app(Library.open()), headers=HOST, config=CONFIG
)


@schema.parametrize()
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_api_keeps_its_own_description(case: Any) -> None:
    case.call_and_validate(headers=HOST)


def test_the_list_is_the_librarys(site: Client, real: Library) -> None:
    answer = site.get("/api/incidents?q=NCCL&symptom=hang&per_page=100").json()
    result = real.search(Query("NCCL", {"symptom": ("hang",)}), limit=100)
    assert [one["id"] for one in answer["items"]] == [one.id for one in result.incidents]
    assert answer["total"] == result.total
    assert answer["counts"]["component"] == result.counts["component"]


def test_a_case_in_one_language_or_both(site: Client) -> None:
    both = site.get("/api/incidents/IL-0004").json()
    korean = site.get("/api/incidents/IL-0004?lang=ko").json()
    assert {"en", "ko"} <= set(str(both).replace("'", " ").split())
    assert "정정 불가" in str(korean)
    assert "uncorrectable" not in str(korean)


def test_a_case_names_the_checks_that_cite_it(site: Client) -> None:
    cited = {one["id"]: one for one in site.get("/api/incidents/IL-0138?lang=en").json()["checks"]}
    told = cited["jobset_no_restarts"]
    assert (told["family"], told["title"]) == (
        "kubernetes",
        {"en": "JobSets start again after a failure"},
    )
    assert set(told["why"]) == {"en"}


def test_a_merged_case_is_the_one_that_holds_it(site: Client) -> None:
    assert "IL-0048" in site.get("/api/incidents/IL-0050").text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/incidents/IL-9999", 404),
        ("/api/incidents/..%2f..%2fetc", 404),
        ("/api/terms/cause/nowhere", 404),
        ("/api/incidents?cause=nowhere", 422),
        ("/api/incidents?page=0", 422),
        ("/api/incidents?per_page=101", 422),
        ("/api/incidents?q=" + "x" * 401, 422),
        ("/api/nowhere", 404),
        ("/api/diagnose", 405),
    ],
)
def test_what_cannot_be_answered_is_json_with_a_reason(site: Client, path: str, status: int) -> None:
    answer = site.get(path)
    assert answer.status_code in {status, 400} if status == 422 else answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["detail"]


@pytest.mark.parametrize(
    "query",
    ["%00", "%ff", "%F0%9F%98%80", "'%22%3B--", "((((", "AND%20OR%20NOT", "*", "%5B", "%EA%B0%80" * 100],
)
def test_hostile_words_are_only_words(site: Client, query: str) -> None:
    assert site.get(f"/api/incidents?q={query}").status_code in {200, 422}


def test_stats_and_graph_count_all_cases(site: Client, real: Library) -> None:
    assert str(len(real.incidents)) in site.get("/api/stats").text
    assert site.get("/api/graph").json()["total"] == len(real.incidents)


def test_values_may_be_repeated_or_have_commas_between(site: Client) -> None:
    repeated = site.get("/api/incidents?symptom=hang&symptom=oom&year=2024&year=2025").json()
    assert repeated == site.get("/api/incidents?symptom=hang,%20oom&year=2024,2025").json()
    many = ",".join(str(year) for year in range(1990, 2060))
    assert site.get(f"/api/incidents?year={many}").json()["total"] > 0


def test_an_empty_library_answers() -> None:
    small = Client(create_app(Library([incident(1)])))
    assert small.get("/api/incidents?symptom=oom").json()["total"] == 0
