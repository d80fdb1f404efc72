from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.cells import cell_len
from rich.console import Console
from tests.report.audit.made import (
    DRIVERS,
    KUBERNETES,
    RESTARTS,
    aside,
    audit,
    clean,
    failed,
    gap,
    hostile,
    job,
    rendered,
    results,
)

from evenpace.findings import Subject
from evenpace.report.audit import Audit, audit_of
from evenpace.report.audit.formats.text import print_audit


def shown(said: Audit, width: int = 100) -> str:
    page = io.StringIO()
    print_audit(said, Console(file=page, width=width, highlight=False, color_system=None))
    return page.getvalue()


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_golden(golden: Callable[[str, str], None], lang: str) -> None:
    golden(f"audit-{lang}.txt", shown(audit(lang), 80))


def test_golden_of_what_does_not_count(golden: Callable[[str, str], None]) -> None:
    golden("audit-aside.txt", shown(aside(), 80))


def test_short_where_all_is_well() -> None:
    told = shown(clean()).splitlines()
    assert told[1] == "No gap found."
    assert told[-1] == "pass 2 · not applicable 1"
    assert len(told) == 4


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("width", [60, 140])
def test_fits_but_for_commands(lang: str, width: int) -> None:
    told = shown(audit(lang), width).splitlines()
    long = [row for row in told if cell_len(row) > width]
    assert [row for row in long if "kubectl" not in row and "https://" not in row] == []


def test_a_command_is_whole_at_any_width() -> None:
    assert "         kubectl get job train-0 -n ml -o yaml\n" in shown(audit(), 30)


def test_many_subjects_are_named_and_counted() -> None:
    told = shown(audit("en", results(jobs=30, more=70)), 200)
    assert "The same: Job/ml/train-4, Job/ml/train-5" in told
    assert "and 14 more" in told
    assert "70 more subjects have the same gap." in told
    assert told.count("never starts again.") == 4


def test_a_step_that_names_its_subject_is_said_once_for_all() -> None:
    told = shown(audit(), 200)
    assert "2. Look at <name>." in told
    assert told.count("kubectl get job") == 3


def test_many_failing_checks_are_listed_once_more_at_the_end() -> None:
    said = [failed(RESTARTS, gap(job(f"train-{n}"))) for n in range(4)]
    said.append(failed(DRIVERS, gap(Subject(kind="node", node="gpu-1"))))
    told = shown(audit_of((KUBERNETES,), said, "en")).splitlines()
    assert told[-8:-1] == [
        "5 of 5 checks found a gap: critical 4, warning 1.",
        *["  critical  no_restarts   subjects 1"] * 4,
        "  warning   driver_apart  subjects 1",
        "",
    ]


def test_hostile_clusters_steer_no_terminal(trick: str) -> None:
    told = shown(hostile(trick))
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2028", "\udcff"} & set(told)
    rendered(hostile(trick), "text").encode()


def test_a_file_has_no_colours() -> None:
    assert "\x1b" not in rendered(audit(), "text")
