from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.collect.slurm.cluster import Settings, seconds


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("300 sec", 300),
        ("5 min", 300),
        ("5", 5),
        ("1-12:00:00", 129600),
        ("10:00", 600),
        ("01:00:00", 3600),
        ("UNLIMITED", math.inf),
        ("(null)", None),
        ("", None),
    ],
)
def test_seconds(written: str, value: float | None) -> None:
    assert seconds(written) == value


@given(st.text())
def test_no_text_raises(written: str) -> None:
    seconds(written)


def test_settings_are_found_whatever_their_case_and_null_is_unset() -> None:
    found = Settings({"HealthCheckProgram": "(null)", "PrologFlags": "Alloc, Contain"})
    assert "healthcheckprogram" in found
    assert found.text("HealthCheckProgram") == ""
    assert found.words("prologflags") == ("Alloc", "Contain")


def test_numbered_settings_are_one_list() -> None:
    found = Settings({"SlurmctldHost[0]": "a(10.0.0.1)", "SlurmctldHost[1]": "b", "Prolog[0]": "/etc/p.sh"})
    assert found.words("SlurmctldHost") == ("a(10.0.0.1)", "b")
    assert found.text("Prolog") == "/etc/p.sh"
