from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import pytest
from tests.report.answer.made import TIMEOUT, XID, answer, found, hostile, nothing

from evenpace.findings import Subject
from evenpace.report.answer import Answer
from evenpace.report.answer.sarif import to_sarif, uri

URI = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?(?:[A-Za-z0-9._~!$&'()*+,;=@/-]|%[0-9A-F]{2})*")


def log(said: Answer) -> dict[str, Any]:
    page = json.loads(to_sarif(said))
    valid(page)
    run: dict[str, Any] = page["runs"][0]
    return run


def valid(page: dict[str, Any]) -> None:
    """Check what the schema of SARIF 2.1.0 and its text ask of the parts that we write."""
    assert set(page) == {"$schema", "version", "runs"}
    assert page["version"] == "2.1.0"
    (run,) = page["runs"]
    assert set(run) == {"tool", "language", "invocations", "results", "columnKind"}
    assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
    assert re.fullmatch(r"[a-zA-Z]{2}(-[a-zA-Z]{2})?", run["language"])
    rules = run["tool"]["driver"]["rules"]
    assert set(run["tool"]["driver"]) == {"name", "version", "rules"}
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        message(rule["shortDescription"])
        message(rule["fullDescription"])
    for told in run["invocations"][0]["toolExecutionNotifications"]:
        message(told["message"])
    for result in run["results"]:
        result_is_valid(result, rules)


def result_is_valid(result: dict[str, Any], rules: list[dict[str, Any]]) -> None:
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["level"] in {"none", "note", "warning", "error"}
    assert 0 <= result["rank"] <= 100
    message(result["message"])
    assert len(result["locations"]) <= 1
    ids = [place["id"] for place in result["relatedLocations"]]
    assert ids == sorted(set(ids))
    for place in (*result["locations"], *result["relatedLocations"]):
        physical = place["physicalLocation"]
        assert URI.fullmatch(physical["artifactLocation"]["uri"])
        assert urlsplit(physical["artifactLocation"]["uri"]).scheme in {"", "file"}
        assert physical["region"]["startLine"] >= 1


def message(said: dict[str, str]) -> None:
    """Check that a message has no link and no placeholder: each such sign is escaped."""
    assert set(said) == {"text"}
    assert said["text"]
    assert not re.search(r"(?<!\\)[\[\]]", said["text"])
    assert not re.search(r"[{}]", said["text"].replace("{{", "").replace("}}", ""))


def test_a_finding_is_a_result_with_its_lines() -> None:
    (result,) = log(answer())["results"]
    assert (result["ruleId"], result["level"], result["rank"]) == ("gpu-hardware", "error", 95.0)
    text = result["message"]["text"]
    assert text.startswith("GPU 0000:c1:00 on node7: A GPU fell off the bus (Xid 79)\n1. Take the node out")
    assert "$ sbatch --exclude=node7" in text
    first, second = (
        place["physicalLocation"] for place in (*result["locations"], *result["relatedLocations"])
    )
    assert first["artifactLocation"] == {"uri": "logs/dmesg-node7.txt"}
    assert first["region"] == {"startLine": 14, "snippet": {"text": XID}}
    assert second["region"] == {"startLine": 2031, "snippet": {"text": TIMEOUT}}


def test_nothing_found_is_a_run_without_results() -> None:
    assert log(nothing())["results"] == []


def test_what_was_left_out_is_told() -> None:
    (told,) = log(answer())["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"] == "Empty: 1 (logs/rank9.log)"


def test_findings_of_one_fault_share_a_rule() -> None:
    other = replace(found(), fault="nvlink")
    run = log(replace(answer(), findings=(found(), other, found())))
    assert [result["ruleIndex"] for result in run["results"]] == [0, 1, 0]


def test_a_fault_that_is_no_term_is_its_own_rule() -> None:
    (rule,) = log(replace(answer(), findings=(replace(found(), fault="new-fault"),)))["tool"]["driver"][
        "rules"
    ]
    assert rule["shortDescription"] == {"text": "new-fault"}


def test_the_language_is_of_the_answer_and_the_fingerprint_of_the_matter() -> None:
    english, korean = log(answer("en")), log(answer("ko"))
    assert (english["language"], korean["language"]) == ("en", "ko")
    assert "GPU가 버스에서 이탈함" in korean["results"][0]["message"]["text"]
    prints = [run["results"][0]["partialFingerprints"] for run in (english, korean)]
    assert prints[0] == prints[1]
    elsewhere = replace(found(), subject=Subject(kind="node", node="node8"))
    assert log(replace(answer(), findings=(elsewhere,)))["results"][0]["partialFingerprints"] != prints[0]


def test_hostile_logs_make_a_valid_file(trick: str) -> None:
    log(hostile(trick))
    text = to_sarif(hostile(trick))
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2028"} & set(text)
    text.encode()


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("logs/a b.log", "logs/a%20b.log"),
        ("./a.log", "a.log"),
        ("c:d.log", "c%3Ad.log"),
        ("/var/log/kern.log", "file:///var/log/kern.log"),
        ("//x/a.log", "file:////x/a.log"),
        ("standard input", "standard%20input"),
        ("a\udcff.log", "a%FF.log"),
        ("한.log", "%ED%95%9C.log"),
        ("a#b?c.log", "a%23b%3Fc.log"),
    ],
)
def test_addresses(name: str, address: str) -> None:
    assert uri(name) == address


def test_a_file_above_has_an_address_that_leads_to_it() -> None:
    assert uri("../a.log").startswith("file:///")
    assert unquote_to_bytes(uri("../a.log")).endswith(b"/a.log")
    assert ".." not in uri("../a.log")
