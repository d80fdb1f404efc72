"""Events: one line of JSON each, readable back, tolerant of additions."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.findings import Finding, Severity, Subject
from evenpace.watch import events as ev


def test_a_finding_survives_the_log() -> None:
    finding = Finding(
        "deadlock", Severity.CRITICAL, 0.5, Subject(kind="rank", rank=[1, 2]), "x", details={"a": 1}
    )
    event = ev.FindingRaised(time=ev.stamp(0), incarnation=0, id=3, finding=finding, iteration=7)
    line = ev.encode(event)
    assert b"\n" not in line
    assert ev.decode(line) == event


def test_the_kind_is_the_classes_name_in_kebab_case() -> None:
    assert b'"event":"run-ended"' in ev.encode(ev.RunEnded(time="t", outcome="finished", exit_code=0))


def test_unknown_fields_are_ignored_and_unknown_kinds_refused() -> None:
    assert ev.decode(b'{"event":"run-ended","time":"t","outcome":"x","exit_code":0,"later":1}')
    with pytest.raises(msgspec.ValidationError):
        ev.decode(b'{"event":"of-the-future","time":"t"}')


@given(st.floats(0, 4e9))
def test_times_keep_their_milliseconds(seconds: float) -> None:
    assert ev.seconds(ev.stamp(seconds)) == pytest.approx(seconds, abs=0.0011)
