from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.diagnose.made import line, signature

from evenpace.diagnose.engine import Diagnosis
from evenpace.diagnose.model import Identity
from evenpace.diagnose.signature import UNEXPLAINED
from evenpace.diagnose.telling import LONGEST, finding, quoted, stamp, subject
from evenpace.findings import Evidence, Subject, to_json
from evenpace.terms.bilingual import fill, fill_command

ADVICE = [{"en": "Drain {host}.", "ko": "{host} 제외.", "command": "ssh {host} 'nvidia-smi -i {gpu}'"}]
XID = signature(
    "xid-made-up",
    title={"en": "GPU {gpu} is gone", "ko": "GPU {gpu} 사라짐"},
    advice=ADVICE,
    missing=[{"en": "the power log of {host}", "ko": "{host}의 전원 기록"}],
    terms={"symptom": ["ecc-xid"], "cause": ["hw-gpu-defect"]},
)
GONE = Diagnosis(
    XID,
    "gpu-hardware",
    "critical",
    0.9512,
    Identity(host="n1", gpu="0000:c1:00"),
    (Identity(rank=3), Identity(rank=4, host="n2")),
    (line("NVRM: Xid", number=7),),
    {"host": "n1", "gpu": "0000:c1:00"},
    ("missing-other-ranks",),
    1_700_000_000.0,
)


def test_a_diagnosis_is_said_in_english() -> None:
    said = finding(GONE)
    assert (said.fault, said.confidence, said.since) == ("gpu-hardware", 0.95, "2023-11-14T22:13:20.000Z")
    assert said.summary == "GPU 0000:c1:00 is gone"
    assert said.subject == Subject(kind="gpu", node="n1", gpu="0000:c1:00")
    assert [victim.rank for victim in said.victims] == [3, 4]
    assert said.evidence == (Evidence("a.log", 7, "NVRM: Xid"),)
    assert [(step.text, step.command) for step in said.advice] == [
        ("Drain n1.", "ssh n1 'nvidia-smi -i 0000:c1:00'")
    ]
    assert said.missing[0] == "the power log of n1"
    assert len(said.missing) == 2
    assert said.terms.symptom == ("ecc-xid",)
    assert said.phrase == "signature:xid-made-up"
    to_json([said])


def test_a_diagnosis_is_said_in_korean() -> None:
    said = finding(GONE, "ko")
    assert said.summary == "GPU 0000:c1:00 사라짐"
    assert said.advice[0].text == "n1 제외."
    assert said.missing[0] == "n1의 전원 기록"
    assert said.missing[1] != finding(GONE).missing[1]


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_failure_that_nobody_knows_names_nobody_and_says_what_would_tell(lang: str) -> None:
    unknown = Diagnosis(None, UNEXPLAINED, "critical", 0.3, missing=("missing-kernel-log", "missing-debug"))
    said = finding(unknown, lang)
    assert not said.names_culprit
    assert said.subject.kind == "job"
    assert len(said.missing) == 2
    assert sum(step.command is not None for step in said.advice) == 2
    assert said.sentence(lang) == said.summary


def test_the_culprit_and_its_host_are_no_victims() -> None:
    culprit = Identity(host="n1", gpu="0000:C1:00.0", pid=9)
    same = (Identity(host="n1"), Identity(host="n1", gpu="0000:c1:00", pid=8), Identity(gpu="PCI:0000:c1:00"))
    others = (
        Identity(host="n2"),
        Identity(host="n1", gpu="0000:1b:00"),
        Identity(rank=3, host="n1"),
        Identity(pid=4),
    )
    said = finding(replace(GONE, culprit=culprit, victims=same + others))
    assert said.victims == tuple(subject(one) for one in others)


def test_one_of_several_culprits_is_no_victim() -> None:
    said = finding(replace(GONE, culprit=Identity(rank=(3, 4)), victims=(Identity(rank=3), Identity(rank=5))))
    assert [victim.rank for victim in said.victims] == [5]


@pytest.mark.parametrize(
    ("identity", "kind"),
    [
        (Identity(), "job"),
        (Identity(rank=3), "rank"),
        (Identity(rank=0, host="n1"), "rank"),
        (Identity(local_rank=3), "rank"),
        (Identity(pid=77), "rank"),
        (Identity(host="n1"), "node"),
        (Identity(host="n1", rank=3, gpu="5"), "gpu"),
    ],
)
def test_what_the_subject_is(identity: Identity, kind: str) -> None:
    assert subject(identity).kind == kind


def test_several_are_a_list_and_a_process_is_the_object() -> None:
    said = subject(Identity(rank=(3, 5), host=("n1", "n2"), pid=(7, 8)))
    assert (said.rank, said.node, said.object) == ([3, 5], ["n1", "n2"], "pid 7, 8")


def test_a_very_long_line_is_quoted_with_its_two_ends() -> None:
    text = quoted("a" * 100_000 + "z")
    assert len(text) == LONGEST + 3
    assert text.startswith("aa")
    assert text.endswith("az")
    assert quoted("short") == "short"


@given(st.none() | st.floats())
def test_any_time_has_a_stamp_or_none(time: float | None) -> None:
    assert stamp(time) is None or str(stamp(time)).endswith("Z")


@pytest.mark.parametrize(
    "value", ["x; rm -rf /", "$(reboot)", "`reboot`", "a b", "a\nb", "-oProxyCommand=x", "'", "~", ""]
)
def test_what_a_shell_would_obey_does_not_get_into_a_command(value: str) -> None:
    command = finding(replace(GONE, details={"host": value, "gpu": "3"})).advice[0].command
    assert command == "ssh <host> 'nvidia-smi -i 3'"


@pytest.mark.parametrize(
    "value",
    [
        "node042",
        "10.0.0.1",
        "fe80::1%eth0",
        "0000:c1:00.0",
        "0,1,2",
        "/data/a_b+c.pt",
        "GPU-8a2f-1",
        "user@host",
    ],
)
def test_names_addresses_and_paths_get_into_a_command(value: str) -> None:
    assert fill_command("run {host}", {"host": value}) == f"run {value}"


@given(st.text() | st.text(alphabet="a-;$`'\"\\ \n&|<>(){}[]*?~#!="))
def test_whatever_is_captured_is_one_word_or_left_out(value: str) -> None:
    filled = fill_command("run {host} 'at {host}'", {"host": value})
    if filled != fill("run {host} 'at {host}'", {}):
        assert shlex.split(filled) == ["run", value, f"at {value}"]
        assert not value.startswith("-")


def test_literal_braces_stay_and_what_is_not_known_is_named() -> None:
    assert fill_command("awk '{{print $1}}' {path}", {}) == "awk '{print $1}' <path>"
