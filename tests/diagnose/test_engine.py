from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.engine import (
    MOST_EVIDENCE,
    MOST_UNKNOWN,
    Diagnosis,
    all_judges,
    diagnose,
    standing_out,
)
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import NOBODY, Case, Source
from evenpace.diagnose.signature import UNEXPLAINED, signatures
from evenpace.diagnose.telling import finding

XID = "Mar  3 02:11:07 node7 kernel: NVRM: Xid (PCI:0000:c1:00): 79, pid=4242, GPU has fallen off the bus.\n"
WATCHDOG = (
    "[rank{0}]:[E303 02:21:09.104 ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=8812, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600027 "
    "milliseconds before timing out.\n"
)
HEALTHY = "".join(f"step {number}: loss 2.{number:03d}\n" for number in range(20))


def case(**texts: str) -> Case:
    """Return a case of files with these texts."""
    lines = tuple(line for name, text in texts.items() for line in read_lines(f"{name}.log", text))
    sources = tuple(Source(f"{name}.log", len(text), text.count("\n")) for name, text in texts.items())
    return Case(sources, lines)


def victims(one: Diagnosis) -> list[object]:
    return [victim.rank for victim in one.victims]


def test_a_healthy_log_is_no_failure() -> None:
    assert diagnose(case(train=HEALTHY)) == []
    assert standing_out(case(train=HEALTHY))


def test_no_lines_are_no_failure() -> None:
    assert diagnose(Case((), ())) == []
    assert standing_out(Case((), ())) == []


def test_the_cause_is_the_answer_and_whoever_waited_a_victim() -> None:
    (answer,) = diagnose(case(train=WATCHDOG.format(0) + WATCHDOG.format(1), kernel=XID))
    assert answer.signature is signatures()["xid-79"]
    assert (answer.culprit.host, answer.culprit.gpu) == ("node7", "0000:c1:00")
    assert victims(answer) == [0, 1]
    assert answer.details["host"] == "node7"
    assert "fallen off the bus" in answer.lines[0].text
    assert any("Watchdog" in line.text for line in answer.lines)


def test_without_the_signature_nobody_is_named_and_the_line_is_shown() -> None:
    left_out = [name for name in signatures() if name.startswith("xid")]
    answer = diagnose(case(kernel=XID, train=WATCHDOG.format(0)), without=left_out)[0]
    assert answer.culprit == NOBODY
    assert any("fallen off the bus" in line.text for line in answer.lines)


def test_a_failure_that_nothing_explains_says_what_would_tell() -> None:
    (answer,) = diagnose(
        case(train=HEALTHY + "FrobnicationError: the frobnicator is stuck\n"), without=EXCEPTIONS
    )
    assert (answer.signature, answer.fault) == (None, UNEXPLAINED)
    assert answer.culprit == NOBODY
    assert "missing-kernel-log" in answer.missing
    assert any("frobnicator" in line.text for line in answer.lines)


EXCEPTIONS = [name for name, one in signatures().items() if one.fault == "user-code-exception"]


def test_evidence_is_bounded() -> None:
    loud = "".join(WATCHDOG.format(rank) for rank in range(200))
    for answer in (*diagnose(case(train=loud, kernel=XID)), *diagnose(case(train=loud))):
        most = MOST_UNKNOWN if answer.signature is None else MOST_EVIDENCE
        assert len(answer.lines) <= most
        assert len(answer.victims) <= 64


def test_evidence_is_quoted_once() -> None:
    (answer,) = diagnose(case(kernel=XID * 3))
    places = [(line.source, line.number, line.text) for line in answer.lines]
    assert len(places) == len(set(places))


def test_judges_are_found_by_their_path() -> None:
    assert len(all_judges()) >= 5
    assert all(list(judge(Case((), ()))) == [] for judge in all_judges())


@pytest.mark.parametrize("word", ["noise", "marker"])
def test_harmless_lines_and_marks_are_no_finding(word: str) -> None:
    texts = [
        one.content.example[0].text
        for one in signatures().values()
        if one.role == word and one.content.example
    ]
    assert texts
    for text in texts:
        assert all(one.signature is None or one.signature.role != word for one in diagnose(case(train=text)))


PIECES = (
    XID,
    WATCHDOG.format(3),
    HEALTHY,
    "Traceback (most recent call last):\n",
    "\x00\x1b[31m\r\n",
    "[rank3]: ",
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=60), max_size=12).map("".join))
def test_any_log_has_an_answer(text: str) -> None:
    for answer in diagnose(case(train=text)):
        assert 0 < answer.certainty <= 1
        assert len(answer.lines) <= MOST_UNKNOWN


def test_no_command_takes_a_pod_for_a_node() -> None:
    log = (
        "[pod/llama-worker-1/torch] [rank5]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
        "[pod/llama-worker-0/torch] step 100 loss 2.1\n"
    )
    (found,) = diagnose(Case((), tuple(read_lines("standard input", log))))
    said = finding(found)
    assert said.subject.node == "llama-worker-1"
    assert not any("llama-worker-1" in (step.command or "") for step in said.advice)
