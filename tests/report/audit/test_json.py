from __future__ import annotations

import json
from typing import Any

import pytest
from tests.report.audit.made import QUIET, aside, audit, hostile, rendered, results

from evenpace.report.audit import Audit


def page(said: Audit) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(rendered(said, "json"))
    return told


def test_the_envelope_and_what_an_audit_adds() -> None:
    told = page(audit())
    assert told["schema"] == 1
    first = told["findings"][0]
    assert (first["check"], first["severity"], first["suppressed"], first["new"]) == (
        "no_restarts",
        "critical",
        None,
        None,
    )
    assert len(first["fingerprint"]) == 32
    assert told["counts"] == {"pass": 0, "fail": 2, "not-applicable": 0, "no-data": 1, "error": 1}
    assert told["counting"] == 7
    assert [one["findings"] for one in told["checks"]] == [[6], [0, 1, 2, 3, 4, 5], [], []]
    assert [one["source"] for one in told["checks"]] == [0, 0, 0, 1]
    quiet = told["checks"][2]
    assert (quiet["id"], quiet["reason"]) == (QUIET.id, "list pods: forbidden")
    assert quiet["unread"] == [{"why": "forbidden", "what": "list pods", "detail": ""}]


def test_what_does_not_count_is_marked() -> None:
    told = page(aside())
    assert told["findings"][0]["suppressed"]["reason"] == "Started by hand."
    assert [one["new"] for one in told["findings"]] == [True, True, True, False, True, True, False]
    assert told["gone"] == ["0" * 32]
    assert [one["expires"] for one in told["suppressions"]["expired"]] == ["2020-01-01"]
    assert told["counting"] == 2
    assert page(audit("en", results(1, more=9)))["counting"] == 11


def test_incidents_are_those_of_the_check() -> None:
    told = page(audit("ko"))
    assert told["findings"][0]["incidents"] == [{"id": "IL-0001", "why": "밤에 학습이 끝남."}]
    assert told["findings"][6]["incidents"] == []
    assert told["checks"][0]["documents"][0]["url"] == "https://docs.nvidia.com/datacenter/"


@pytest.mark.usefixtures("trick")
def test_hostile_clusters_make_valid_json(trick: str) -> None:
    text = rendered(hostile(trick), "json")
    assert json.loads(text)["schema"] == 1
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2028"} & set(text)
    text.encode()
