from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenpace.findings import Evidence, Finding, Severity, Subject
from evenpace.report import words
from evenpace.terms import say

DETAILS = {"rank": 3, "node": "n1", "slowdown": 1.5, "onset": 12}
FINDING = Finding(
    fault="non-communication-slow",
    severity=Severity.WARNING,
    confidence=0.9,
    subject=Subject("rank", node="n1", rank=3),
    summary="what was said then",
    phrase="slow-worker",
    details=dict(DETAILS),
)


@pytest.mark.parametrize(
    ("subject", "english"),
    [
        (Subject("rank", node="n1", rank=3), "rank 3 on n1"),
        (Subject("node", node=["n1", "n2"]), "n1, n2"),
        (Subject("rank", node="n1", rank=[0, 1]), "rank 0, 1 on n1"),
        (Subject("gpu", node="n1", gpu="5"), "GPU 5 on n1"),
        (Subject("rank", rank=2), "rank 2"),
        (Subject("link", link="n1-n2", node="n1"), "n1-n2"),
        (Subject("job"), "the whole job"),
        (Subject("object", object="pod/x"), "pod/x"),
    ],
)
def test_who(subject: Subject, english: str) -> None:
    assert words.who(subject, "en") == english
    assert words.who(subject, "ko")


def test_a_finding_is_said_again_in_korean() -> None:
    assert words.sentence(FINDING, "en") == say("slow-worker", "en", **DETAILS)
    assert words.sentence(FINDING, "ko") == say("slow-worker", "ko", **DETAILS)


def test_words_within_a_sentence_are_said_again_too() -> None:
    details = {"difference": say("difference-skipped", "en"), "rank": 1, "node": "n"}
    said = words.sentence(replace(FINDING, phrase="desync-culprit", details=details), "ko")
    assert say("difference-skipped", "ko") in said


@pytest.mark.parametrize("phrase", [None, "no-such-phrase"])
def test_an_unknown_phrase_falls_back_to_the_summary(phrase: str | None) -> None:
    assert words.sentence(replace(FINDING, phrase=phrase), "ko") == "what was said then"


def test_details_cannot_break_the_sentence() -> None:
    hostile = replace(FINDING, details={"key": "x", "lang": "y", "slowdown": "{0.__class__}"})
    assert words.sentence(hostile, "en")


def test_fault_and_uncapped() -> None:
    assert words.fault("non-communication-slow", "en") == "Slow worker"
    assert words.fault("no-such-fault", "en") == "no-such-fault"
    assert words.uncapped("Slow worker") == "slow worker"
    assert words.uncapped("GPU driver") == "GPU driver"


def test_sparkline() -> None:
    assert words.sparkline(np.array([0.0, 1.0, 2.0]), 10, 2.0) == "▁▅█"
    assert words.sparkline(np.array([]), 10, 2.0) == ""
    assert len(words.sparkline(np.ones(500), 40, 1.0)) == 40


def test_evidence() -> None:
    assert words.evidence(Evidence("a.log", line=3, text="boom"), "en") == "a.log:3  boom"
    number = Evidence("ring", metric="busy", value=0.123456, expected=0.1)
    assert words.evidence(number, "en") == "ring  busy 0.1235 (expected 0.1)"
    assert words.evidence(Evidence("ring", metric="state", value="T"), "en") == "ring  state T"
    stack = Evidence("rank 1 stack", text="a.py:1:f\nb.py:2:g\n")
    assert words.evidence(stack, "en") == "rank 1 stack\n    a.py:1:f\n    b.py:2:g"
