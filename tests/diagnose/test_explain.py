"""What is said of a line or a code, and that nothing is said of what is not known."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.diagnose.explain import MOST_MEANINGS, explain
from evenpace.diagnose.signature import signatures


def test_a_line_is_explained_by_its_signature() -> None:
    (meaning, *_) = explain(
        "slurmstepd: error: *** JOB 401 ON n7 CANCELLED AT 2025-02-11T04:10:55 DUE TO PREEMPTION ***"
    ).meanings
    assert (meaning.key, meaning.standing, meaning.fault) == (
        "slurm-preempted",
        "cause",
        "preempted-or-timelimit",
    )
    assert not meaning.culprit
    assert meaning.steps


def test_a_consequence_is_said_to_be_one() -> None:
    answer = explain("RendezvousConnectionError: The connection to the C10d store has failed.")
    assert [meaning.standing for meaning in answer.meanings] == ["consequence"]


def test_who_a_line_names() -> None:
    (meaning, *_) = explain(
        "TimeoutError: The client socket has timed out after 60s while trying to connect to 172.20.4.8:29511"
    ).meanings
    assert meaning.culprit.host == "172.20.4.8"
    assert "172.20.4.8:29511" in meaning.title.say("en", meaning.details)


def test_what_needs_another_line_is_only_possible() -> None:
    line = "RuntimeError: The server socket has failed to listen on any local network address. port: 29611, "
    line += "useIpv6: 0, code: -98, name: EADDRINUSE, message: address already in use"
    alone = {meaning.key: meaning.certain for meaning in explain(line).meanings}
    assert alone["port-in-use"]
    assert not alone["port-fixed-in-program"]
    both = {
        meaning.key: meaning.certain for meaning in explain(f"MASTER_PORT=30117 python x.py\n{line}").meanings
    }
    assert both["port-fixed-in-program"]


def test_what_follows_from_another_line_is_a_consequence_and_accuses_nobody() -> None:
    answer = explain(
        "[c10d] The IPv6 network addresses of (no-host, 29883) cannot be retrieved (gai error: -2 - x).\n"
        "The client socket has timed out after 8000ms while trying to connect to (no-host, 29883)."
    )
    standing = {meaning.key: meaning.standing for meaning in answer.meanings}
    assert standing["endpoint-unresolvable"] == "cause"
    assert standing["c10d-endpoint-timeout"] == "consequence"
    assert not any(meaning.culprit for meaning in answer.meanings)


def test_a_code_leads_to_the_signature_that_treats_it() -> None:
    (meaning,) = explain("Xid 79").meanings
    assert meaning.treated_by == ("xid-79",)
    assert meaning.fault == "gpu-hardware"
    assert meaning.steps == signatures()["xid-79"].content.advice


def test_a_code_in_an_explained_line_is_not_told_twice() -> None:
    answer = explain("NVRM: Xid (PCI:0000:1b:00): 79, pid=401, name=python, GPU has fallen off the bus.")
    assert [meaning.key for meaning in answer.meanings].count("xid-79") == 1


def test_the_unknown_is_not_guessed() -> None:
    answer = explain("the flux capacitor is misaligned again")
    assert answer.meanings == ()
    assert answer.near == ()


@pytest.mark.parametrize("word", ["ncclSystmError", "CUBLAS_STATUS_ALOC_FAILED"])
def test_a_misspelt_name_has_its_nearest(word: str) -> None:
    answer = explain(word)
    assert answer.meanings == ()
    assert answer.near[0][0] in ("ncclSystemError", "CUBLAS_STATUS_ALLOC_FAILED")


def test_a_torn_line_has_its_nearest_signature() -> None:
    answer = explain("socket failed to listen network address useIpv6")
    assert "port-in-use" in [key for key, _ in answer.near]


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=600))
def test_any_text_has_a_bounded_answer(text: str) -> None:
    answer = explain(text)
    assert len(answer.meanings) <= MOST_MEANINGS
    assert len(answer.near) <= 23
    assert not (answer.meanings and answer.near)
