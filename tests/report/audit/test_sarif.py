from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.report.answer.test_sarif import URI, message
from tests.report.audit.made import RESTARTS, aside, audit, failed, gap, hostile, job, rendered

from evenpace.findings import Subject
from evenpace.report.audit import Audit

RESULT = {
    *("ruleId", "ruleIndex", "kind", "level", "rank", "message", "locations", "partialFingerprints"),
    *("suppressions", "baselineState"),
}


def log(said: Audit) -> dict[str, Any]:
    page = json.loads(rendered(said, "sarif"))
    assert set(page) == {"$schema", "version", "runs"}
    assert page["version"] == "2.1.0"
    (run,) = page["runs"]
    valid(run)
    found: dict[str, Any] = run
    return found


def valid(run: dict[str, Any]) -> None:
    """Check what the schema of SARIF 2.1.0 and its text ask of the parts that we write."""
    assert set(run) == {
        *("tool", "automationDetails", "language", "invocations", "results", "columnKind"),
    }
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        message(rule["shortDescription"])
        message(rule["fullDescription"])
        message({"text": rule["help"]["text"]})
        assert rule["defaultConfiguration"]["level"] in {"note", "warning", "error"}
        assert len(set(rule["properties"]["tags"])) == len(rule["properties"]["tags"])
        assert URI.fullmatch(rule.get("helpUri", ""))
    for told in run["invocations"][0]["toolExecutionNotifications"]:
        assert told["level"] in {"note", "warning", "error"}
        message(told["message"])
        rule = told.get("associatedRule")
        assert rule is None or rules[rule["index"]]["id"] == rule["id"]
    for result in run["results"]:
        result_is_valid(result, rules)
    assert len({"baselineState" in result for result in run["results"]}) <= 1


def result_is_valid(result: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    assert set(result) <= RESULT
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert (result["kind"], result["level"]) in {("fail", level) for level in ("note", "warning", "error")}
    assert 0 <= result["rank"] <= 100
    assert result.get("baselineState", "new") in {"new", "unchanged", "updated", "absent"}
    message(result["message"])
    for one in result.get("suppressions", ()):
        assert (one["kind"], one["status"]) == ("external", "accepted")
    (place,) = result["locations"]
    physical = place["physicalLocation"]
    assert URI.fullmatch(physical["artifactLocation"]["uri"])
    assert urlsplit(physical["artifactLocation"]["uri"]).scheme == ""
    assert not {".", ".."} & set(physical["artifactLocation"]["uri"].split("/"))
    assert physical["region"]["startLine"] >= 1
    (logical,) = place["logicalLocations"]
    assert set(logical) == {"name", "fullyQualifiedName", "kind"}


def test_a_rule_a_check_and_a_result_a_gap() -> None:
    run = log(audit())
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        *("driver_apart", "no_restarts", "quiet", "no_prolog"),
    ]
    assert [result["ruleId"] for result in run["results"]] == ["no_restarts"] * 6 + ["driver_apart"]
    first, last = run["results"][0], run["results"][-1]
    assert (first["level"], last["level"], last["rank"]) == ("error", "warning", 80.0)
    text = first["message"]["text"]
    assert text.startswith("Job train-0 in ml never starts again.\nJob/ml/train-0  null\n1. Set")
    assert "$ kubectl get job train-0 -n ml -o yaml" in text
    place = first["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "kubernetes/Job/ml/train-0"
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "kubernetes/Job/ml/train-0"
    shared = last["locations"][0]["logicalLocations"][0]
    assert shared["fullyQualifiedName"] == "kubernetes/Node/gpu-1, gpu-2"


def test_what_could_not_be_decided_is_told() -> None:
    told = log(audit())["invocations"][0]["toolExecutionNotifications"]
    (pods,) = (one for one in told if one.get("associatedRule", {}).get("id") == "quiet")
    assert pods["message"]["text"] == "no data: quiet: list pods: forbidden"


def test_suppressions_and_baseline_are_those_of_the_format() -> None:
    results = log(aside())["results"]
    assert results[0]["suppressions"][0]["justification"] == "Started by hand. (2027-03-31)"
    assert [result["baselineState"] for result in results] == [
        *("new", "new", "new", "unchanged", "new", "new", "unchanged"),
    ]


def test_the_fingerprint_is_that_of_the_json() -> None:
    english, korean = log(audit()), log(audit("ko"))
    prints = [result["partialFingerprints"]["evenpace/v1"] for result in english["results"]]
    assert tuple(prints) == audit().prints
    assert [result["partialFingerprints"]["evenpace/v1"] for result in korean["results"]] == prints
    assert korean["language"] == "ko"


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/../..", "/etc", "...", "c:d"])
def test_no_name_leads_to_a_file_above(name: str) -> None:
    subject = Subject(kind="object", object=name)
    run = log(audit("en", [failed(RESTARTS, gap(subject), gap(job(name)))]))
    for result in run["results"]:
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert not re.search(r"(^|/)\.+(/|$)|^/", uri)


def test_hostile_clusters_make_a_valid_file(trick: str) -> None:
    log(hostile(trick))
    text = rendered(hostile(trick), "sarif")
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2028"} & set(text)
    text.encode()
