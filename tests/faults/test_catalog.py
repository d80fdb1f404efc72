"""Every fault of the catalog keeps the small protocol."""

from __future__ import annotations

import pytest

from evenpace import faults
from evenpace.errors import Problem
from evenpace.terms import phrases, term


@pytest.mark.parametrize("name", faults.names())
def test_a_fault_says_what_verdict_is_right(name: str) -> None:
    fault = faults.find(name)
    assert fault.slugs
    for slug in fault.slugs:
        assert term("fault", slug).slug == slug
    assert isinstance(fault.module.CULPRIT, bool)
    assert fault.culprit == fault.module.CULPRIT


@pytest.mark.parametrize("name", faults.names())
def test_a_fault_is_described_in_both_languages(name: str) -> None:
    assert set(phrases()[f"faults-{name}"]) == {"en", "ko"}


@pytest.mark.parametrize("name", faults.names())
def test_a_fault_acts_from_inside_or_from_outside(name: str) -> None:
    fault = faults.find(name)
    assert hasattr(fault.module, "inject") != hasattr(fault.module, "act")
    assert hasattr(fault.module, "EVERYWHERE") == fault.planted


def test_the_faults_of_the_issue_are_there() -> None:
    assert set(faults.names()) == {
        *("slow", "cpu-contention", "hang-stopped", "hang-loop", "crash-sigkill", "crash-sigsegv"),
        *("crash-exception", "crash-exception-everywhere", "skip-collective", "mismatched-shapes"),
        *("stalled-loader", "all-slow"),
    }


def test_an_unknown_fault_is_answered_with_the_nearest() -> None:
    with pytest.raises(Problem, match="did you mean hang-loop"):
        faults.find("hang-lop")


def test_a_planted_fault_cannot_be_injected() -> None:
    with pytest.raises(Problem, match="plant it at launch"):
        faults.find("hang-loop").inject(None)  # type: ignore[arg-type]
