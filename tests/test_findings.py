"""The finding's JSON is a contract: this golden form may only grow."""

from __future__ import annotations

import json

import msgspec
import pytest

from evenpace.findings import (
    SCHEMA,
    Advice,
    Evidence,
    Finding,
    IncidentLink,
    Severity,
    Subject,
    Terms,
    to_builtins,
    to_json,
)

FINDING = Finding(
    fault="non-communication-slow",
    severity=Severity.WARNING,
    confidence=0.9,
    since="2026-01-01T00:00:00.000Z",
    subject=Subject(kind="rank", node="n2", rank=2, local_rank=0),
    victims=(Subject(kind="rank", rank=[0, 1, 3]),),
    summary="rank 2 is slow",
    evidence=(
        Evidence(source="ring", metric="busy_s", value=0.3, expected=0.1),
        Evidence(source="logs/0/n2.log", line=7, text="throttled"),
    ),
    advice=(Advice("Look at the host.", "nvidia-smi -q"),),
    missing=("GPU clocks",),
    terms=Terms(symptom=("straggler",)),
    incidents=(IncidentLink("some-incident", "same symptom"),),
)
GOLDEN = {
    "fault": "non-communication-slow",
    "severity": "warning",
    "confidence": 0.9,
    "subject": {
        "kind": "rank",
        "job": None,
        "node": "n2",
        "rank": 2,
        "local_rank": 0,
        "gpu": None,
        "link": None,
        "object": None,
    },
    "summary": "rank 2 is slow",
    "since": "2026-01-01T00:00:00.000Z",
    "victims": [
        {
            "kind": "rank",
            "job": None,
            "node": None,
            "rank": [0, 1, 3],
            "local_rank": None,
            "gpu": None,
            "link": None,
            "object": None,
        }
    ],
    "evidence": [
        {"source": "ring", "line": None, "text": None, "metric": "busy_s", "value": 0.3, "expected": 0.1},
        {
            "source": "logs/0/n2.log",
            "line": 7,
            "text": "throttled",
            "metric": None,
            "value": None,
            "expected": None,
        },
    ],
    "advice": [{"text": "Look at the host.", "command": "nvidia-smi -q"}],
    "missing": ["GPU clocks"],
    "terms": {"symptom": ["straggler"], "component": [], "cause": [], "factor": []},
    "incidents": [{"id": "some-incident", "why": "same symptom"}],
    "phrase": None,
    "details": {},
}


def test_the_json_is_the_contract() -> None:
    assert json.loads(to_json([FINDING])) == {"schema": SCHEMA, "findings": [GOLDEN]}


def test_no_findings_is_an_empty_list() -> None:
    assert to_builtins([]) == {"schema": 1, "findings": []}


def test_a_finding_survives_the_round_trip() -> None:
    assert msgspec.convert(json.loads(to_json([FINDING]))["findings"][0], Finding) == FINDING


def test_a_reader_ignores_what_it_does_not_know() -> None:
    assert msgspec.convert({**GOLDEN, "of-a-later-version": 1}, Finding) == FINDING


@pytest.mark.parametrize("damage", [{"fault": 3}, {"severity": "dire"}, {"subject": None}, {"victims": "n2"}])
def test_what_does_not_fit_is_refused(damage: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**GOLDEN, **damage}, Finding)


@pytest.mark.parametrize(
    ("subject", "accuses"),
    [
        (Subject(kind="job", job="j"), False),
        (Subject(kind="rank", rank=0), True),
        (Subject(kind="node", node="n1"), True),
        (Subject(kind="gpu", gpu="0000:9b:00"), True),
        (Subject(kind="link", link="n1-n2"), True),
    ],
)
def test_whether_a_finding_accuses(subject: Subject, accuses: bool) -> None:
    finding = Finding(fault="deadlock", severity=Severity.INFO, confidence=1.0, subject=subject, summary="x")
    assert finding.names_culprit is accuses
