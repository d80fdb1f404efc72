from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.audit.made import (
    CLUSTER,
    DRIVERS,
    PROLOG,
    QUIET,
    RESTARTS,
    SLURM,
    aside,
    audit,
    clean,
    failed,
    gap,
    job,
    rendered,
    results,
    suppression,
)

from evenpace.checks.answers import Gap
from evenpace.errors import Problem
from evenpace.findings import Severity, Subject
from evenpace.report.audit import baseline, suppressions
from evenpace.report.audit.baseline import Baseline
from evenpace.report.audit.failing import fails
from evenpace.report.audit.groups import absent, beside, groups, undecided, verdict
from evenpace.report.audit.naming import fingerprint, matches
from evenpace.report.audit.suppressions import Suppressions

TODAY = date(2026, 11, 30)
OTHER_SCHEMA = '{"schema": 2, "findings": [], "checks": []}'
WRITTEN = """
[[suppress]]
check = "jobset-no-restarts"
subject = "JobSet/sandbox/*"
reason = "Started by hand."
expires = 2026-11-30

[[suppress]]
check = "jobset_no_restarts"
subject = "*"
reason = "Until the move."
expires = 2026-11-29
"""


def test_the_worst_come_first() -> None:
    assert [one.check.id for one in groups(audit())] == ["no_restarts", "driver_apart"]
    assert verdict(audit()) == "2 of 4 checks found a gap: critical 1, warning 1."


def test_a_fingerprint_is_of_check_and_subject_alone() -> None:
    both = Gap(Subject(kind="node", node=["b", "a"]))
    assert fingerprint("x", both) == fingerprint("x", Gap(Subject(kind="node", node=["a", "b"]), since="now"))
    assert fingerprint("x", both) != fingerprint("y", both)
    assert fingerprint("x", both) != fingerprint("x", Gap(Subject(kind="node", node="a")))
    shared = Gap(Subject(kind="node", node=["a", "b"]), known_by=("pool", "1", "2"))
    assert fingerprint("x", shared) == fingerprint(
        "x", replace(shared, subject=Subject(kind="node", node=["c"]))
    )
    assert fingerprint("x", shared) != fingerprint("x", replace(shared, known_by=("pool", "1", "3")))
    other = audit("ko", [failed(RESTARTS, gap(job("train-0"), "other evidence"))])
    assert other.prints[0] == audit().prints[0]


@pytest.mark.parametrize(
    ("pattern", "subject", "covers"),
    [
        ("Job/ml/*", job("a"), True),
        ("Job/ml/*", job("a", "other"), False),
        ("job/ml/*", job("a"), False),
        ("gpu-*", Subject(kind="node", node="gpu-1"), True),
        ("Node/gpu-*", Subject(kind="node", node="gpu-1"), True),
        ("gpu-*", Subject(kind="node", node=["gpu-1", "cpu-1"]), False),
        ("*", Subject(kind="node", node=["gpu-1", "cpu-1"]), True),
        ("slurm", CLUSTER, True),
        ("8812", Subject(kind="job", job="8812"), True),
    ],
)
def test_a_pattern_covers_subjects(pattern: str, subject: Subject, covers: bool) -> None:
    assert matches(pattern, subject) is covers


def test_suppressed_and_known_gaps_do_not_count() -> None:
    found = aside()
    assert sorted(found.suppressed) == [0, 1, 2]
    assert sorted(found.known) == [3, 6]
    assert found.counting() == (4, 5)
    assert [len(one.items) for one in groups(found)] == [2]
    told = "\n".join(beside(found))
    for part in (
        "no_restarts: gaps suppressed 3, until 2027-03-31: Started by hand.",
        "gaps 2 (no_restarts, driver_apart)",
        "and gone: gaps 1",
        "expired on 2020-01-01",
        "for Job/old/* covers nothing",
    ):
        assert part in told


def test_nothing_that_counts_is_not_called_clean() -> None:
    found = audit("en", None, Suppressions((suppression("*"),)), Baseline({audit().prints[6]: DRIVERS.id}))
    assert verdict(found) == "No gap found that counts."
    assert verdict(clean()) == "No gap found."
    assert not fails(found, "info")


def test_nothing_decided_is_not_called_clean() -> None:
    assert "Nothing could be decided" in verdict(audit("en", results()[2:]))


@pytest.mark.parametrize(
    ("threshold", "said", "failing"),
    [
        ("critical", results(), True),
        ("critical", results()[:1], False),
        ("warning", results()[:1], True),
        ("warning", [failed(PROLOG, gap(CLUSTER), snapshot=SLURM)], False),
        ("info", [failed(PROLOG, gap(CLUSTER), snapshot=SLURM)], True),
        ("info", results()[2:], False),
        ("undecided", results()[2:], True),
        ("undecided", results()[:1], True),
        ("undecided", clean().results, False),
        ("never", results(), False),
    ],
)
def test_when_an_audit_fails(threshold: str, said: list[object], failing: bool) -> None:
    assert fails(audit("en", said), threshold) is failing  # type: ignore[arg-type]


def test_gaps_too_many_to_list_count_too() -> None:
    found = audit("en", results(jobs=1, more=500))
    assert groups(found)[0].count == 501
    first = Suppressions((suppression("Job/*"),))
    assert fails(audit("en", results(1, 500), first), "critical")
    whole = Suppressions((suppression("*"),))
    assert not fails(audit("en", results(1, 500), whole), "critical")
    before = Baseline({found.prints[0]: RESTARTS.id}, {RESTARTS.id: 500})
    assert not fails(audit("en", results(1, 500), None, before), "critical")
    assert groups(audit("en", results(1, 502), None, before))[0].count == 2


def test_what_the_same_checks_lack_stands_together() -> None:
    assert undecided(audit()) == [
        ("list pods: forbidden", ["quiet"]),
        ("The check itself failed: KeyError: 'x'", ["no_prolog"]),
    ]


def test_a_check_that_was_not_decided_has_mended_nothing() -> None:
    before = Baseline({"0" * 32: QUIET.id, "1" * 32: DRIVERS.id})
    assert absent(audit("en", None, None, before)) == ["1" * 32]


def test_a_suppression_needs_all_and_ends(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(WRITTEN, "utf-8")
    read = suppressions.read(path, TODAY)
    assert [one.subject for one in read.valid] == ["JobSet/sandbox/*"]
    assert read.valid[0].check == "jobset_no_restarts"
    assert [one.subject for one in read.expired] == ["*"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (WRITTEN.replace('reason = "Until the move."', ""), "reason"),
        (WRITTEN.replace('reason = "Until the move."', 'reason = " "'), "reason"),
        (WRITTEN.replace("expires = 2026-11-29", 'expires = "soon"'), "expires"),
        (WRITTEN.replace("jobset_no_restarts", "jobset_no_restart"), "did you mean jobset_no_restarts"),
        (WRITTEN + 'why = "x"\n', "why"),
        ("[[suppress]\n", "check, subject, reason and expires"),
        ("\0", "check, subject, reason"),
    ],
)
def test_a_wrong_suppression_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(Problem, match=says) as raised:
        suppressions.read(path, TODAY)
    assert str(path) in str(raised.value)


def test_an_audit_is_a_baseline_of_the_next(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(rendered(audit("ko", results(more=7)), "json"), "utf-8")
    again = audit("en", results(more=7), None, baseline.read(path))
    assert again.counting() == ()
    assert not fails(again, "info")
    new = audit(
        "en", [failed(RESTARTS, gap(job("train-0"), "x"), gap(job("new")))], None, baseline.read(path)
    )
    assert [new.findings[place].subject for place in new.counting()] == [job("new")]


def test_what_was_suppressed_in_a_baseline_counts_when_that_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(rendered(audit("en", None, Suppressions((suppression("*"),))), "json"), "utf-8")
    assert len(audit("en", None, None, baseline.read(path)).counting()) == 6


@given(
    text=st.text() | st.sampled_from(["[]", "{}", '{"schema": 2, "findings": [], "checks": []}', "[" * 5000])
)
def test_what_is_no_audit_is_one_line(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("no") / "a.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(Problem, match=r"no audit|schema"):
        baseline.read(path)


def test_severities_are_ordered_from_the_worst() -> None:
    assert list(Severity) == [Severity.CRITICAL, Severity.WARNING, Severity.INFO]
