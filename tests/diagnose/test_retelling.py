from __future__ import annotations

import pytest

from evenpace.diagnose.engine import Diagnosis
from evenpace.diagnose.model import Identity
from evenpace.diagnose.retelling import named, retold, sentence
from evenpace.diagnose.signature import signatures
from evenpace.diagnose.telling import finding
from evenpace.findings import Advice, Finding, Severity, Subject

SAID = [one for one in signatures().values() if one.role == "cause"]


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_every_cause_is_told_again_as_it_would_have_been_told(lang: str) -> None:
    for signature in SAID:
        captured = {"host": "node3", "rank": "3", "gpu": "1"}
        one = Diagnosis(signature, signature.fault, "critical", 0.9, Identity(rank=3), details=captured)
        told, wanted = retold(finding(one, "ko" if lang == "en" else "en"), lang), finding(one, lang)
        assert (told.summary, told.advice, told.missing) == (wanted.summary, wanted.advice, wanted.missing)


def test_a_detail_names_the_signature_of_the_advice_alone() -> None:
    step = signatures()["torch-oom"].content.advice[0]
    said = Finding(
        "oom-gpu", Severity.CRITICAL, 0.9, Subject("job"), "as it was", phrase="a-phrase-of-tomorrow",
        advice=(Advice(step.en), Advice("a sentence of nobody")), details={"signature": "torch-oom"},
    )  # fmt: skip
    told = retold(said, "ko")
    assert (told.summary, told.advice) == ("as it was", (Advice(step.ko), Advice("a sentence of nobody")))


def test_a_signature_that_is_no_more_leaves_what_was_stored() -> None:
    said = Finding("oom-gpu", Severity.CRITICAL, 0.9, Subject("job"), "as it was", phrase="signature:of-old")
    assert retold(said, "ko") == said


def test_a_line_alone_says_whom_it_accuses() -> None:
    signature = signatures()["torch-oom"]
    one = finding(Diagnosis(signature, "oom-gpu", "critical", 0.9, Identity(rank=3, host="node1", gpu="0")))
    assert named(one, "en").startswith("rank 3, GPU 0 on node1: ")
    assert named(one, "ko") == f"node1의 rank 3, GPU 0: {sentence(one, 'ko')}"
    nobody = finding(Diagnosis(signature, "oom-gpu", "critical", 0.9))
    assert named(nobody, "en") == nobody.summary
