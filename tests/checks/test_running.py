from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.checks.answers import FINE, Answer, Gap, Unsure
from evenpace.checks.catalogue import Check, checks, find, read
from evenpace.checks.running import MOST_GAPS, run, run_all
from evenpace.checks.telling import finding, reason
from evenpace.collect.kubernetes.kinds import KINDS
from evenpace.collect.snapshot import Snapshot, Unread, Why
from evenpace.errors import Problem
from evenpace.findings import Outcome, Subject

NOW = datetime(2026, 11, 29, tzinfo=UTC)
NODE = Subject(kind="node", node="gpu-1")
MADE = """
fault = "restart-gap"
severity = "warning"
{kinds}
title = {{en = "Made up", ko = "가상"}}
why = {{en = "Why", ko = "이유"}}
gap = {{en = "{{node}} has it", ko = "{{node}}에 있음"}}
unsure = {{en = "{{node}} is unclear", ko = "{{node}} 불명"}}
advice = [{{en = "Look", ko = "확인", command = "kubectl get node {{node}}"}}]
"""


def made(folder: Path, answers: Any, kinds: str = 'judged = ["nodes"]', monkeypatch: Any = None) -> Check:
    place = folder / "kubernetes" / "made_up"
    place.mkdir(parents=True)
    (place / "check.toml").write_text(MADE.format(kinds=kinds), encoding="utf-8")
    check = read(place / "check.toml", "nowhere")
    monkeypatch.setattr(Check, "load", lambda self: answers)
    return check


def snapshot(**unread: Why) -> Snapshot:
    reasons = {kind: Unread(why, f"list {kind}") for kind, why in unread.items()}
    kinds: dict[str, Any] = {kind: () for kind in ("nodes", "pods", "events") if kind not in unread}
    return Snapshot("kubernetes", "test", NOW, kinds, reasons)


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ([], Outcome.NOT_APPLICABLE),
        ([FINE], Outcome.PASS),
        ([FINE, Gap(NODE)], Outcome.FAIL),
        ([FINE, Unsure(NODE)], Outcome.NO_DATA),
        ([Unsure(NODE), Gap(NODE)], Outcome.FAIL),
        (["no answer"], Outcome.ERROR),
    ],
)
def test_answers_make_the_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: list[Answer], outcome: Outcome
) -> None:
    check = made(tmp_path, lambda _: answers, monkeypatch=monkeypatch)
    assert run(check, snapshot()).outcome is outcome


KINDS_OF_A_CHECK = 'judged = ["nodes", "pods"]\nif_served = ["events"]'


@pytest.mark.parametrize(
    ("unread", "outcome"),
    [
        ({}, Outcome.PASS),
        ({"nodes": Why.FORBIDDEN}, Outcome.NO_DATA),
        ({"nodes": Why.ABSENT}, Outcome.PASS),
        ({"nodes": Why.ABSENT, "pods": Why.ABSENT}, Outcome.NOT_APPLICABLE),
        ({"nodes": Why.ABSENT, "pods": Why.TIMEOUT}, Outcome.NO_DATA),
        ({"events": Why.ABSENT}, Outcome.PASS),
        ({"events": Why.FORBIDDEN}, Outcome.NO_DATA),
    ],
)
def test_what_could_not_be_read_decides_what_can_be_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unread: dict[str, Why], outcome: Outcome
) -> None:
    check = made(tmp_path, lambda _: [FINE], KINDS_OF_A_CHECK, monkeypatch)
    result = run(check, snapshot(**unread))
    assert result.outcome is outcome
    if outcome is Outcome.NO_DATA:
        assert "list" in reason(result, "en")


def test_a_gap_counts_though_something_was_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = made(tmp_path, lambda _: [Gap(NODE)], KINDS_OF_A_CHECK, monkeypatch)
    assert run(check, snapshot(pods=Why.FORBIDDEN)).outcome is Outcome.FAIL


def test_a_check_that_raises_is_an_error_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers(cluster: Any) -> Iterator[Answer]:
        yield FINE
        cluster.objects("secrets")

    result = run(made(tmp_path, answers, monkeypatch=monkeypatch), snapshot())
    assert result.outcome is Outcome.ERROR
    assert "check.toml does not name the kind secrets" in reason(result, "en")


def test_a_check_that_hangs_ends_with_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    check = made(tmp_path, lambda _: iter(release.wait, None), monkeypatch=monkeypatch)
    result = run(check, snapshot(), limit=0.05)
    release.set()
    assert (result.outcome, result.error) == (Outcome.ERROR, "took longer than 0.05 s")


def test_many_gaps_are_counted_and_the_first_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = made(tmp_path, lambda _: [Gap(NODE)] * (MOST_GAPS + 5), monkeypatch=monkeypatch)
    result = run(check, snapshot())
    assert (len(result.gaps), result.failing) == (MOST_GAPS, MOST_GAPS + 5)


def test_a_hostile_name_is_no_command_and_steers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = made(tmp_path, lambda _: (), monkeypatch=monkeypatch)
    found = finding(check, Gap(Subject(kind="node", node="x; reboot\x1b[2J")), "en")
    assert found.advice[0].command == "kubectl get node <node>"
    assert "\x1b" not in found.summary


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
FIELDS = (
    "metadata",
    "spec",
    "status",
    "kind",
    "name",
    "template",
    "containers",
    "replicatedJobs",
    "conditions",
)
SHAPED = st.recursive(
    JSON,
    lambda inner: st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5) | st.lists(inner, max_size=3),
    max_leaves=20,
)


@given(SHAPED, st.sampled_from(sorted(KINDS)))
def test_no_check_fails_over_objects_of_any_shape(hostile: Any, kind: str) -> None:
    kinds = dict.fromkeys(KINDS, ()) | {kind: (hostile,)}
    whole = Snapshot("kubernetes", "test", NOW, kinds)
    errors = {result.check.id: result.error for result in run_all([whole], list(checks().values()))}
    assert {id_: error for id_, error in errors.items() if error} == {}


def test_a_check_is_found_by_its_id_and_an_unknown_one_is_answered_with_the_nearest() -> None:
    assert find("jobset-no-restarts").id == "jobset_no_restarts"
    with pytest.raises(Problem, match="did you mean jobset_no_restarts"):
        find("jobset_no_restart")
