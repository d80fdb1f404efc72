"""What is known of a cause."""

from __future__ import annotations

import pytest

from evenpace.findings import Evidence, Finding, Severity, Subject
from evenpace.respond.mitigation.episode import LOST, Episode, slowed, told
from evenpace.respond.strategies import Cause
from evenpace.watch.events import FindingRaised, LinkProbe, Narrowed, stamp


def test_a_cause_of_a_later_version_is_unclear() -> None:
    finding = Finding("slow-throughput", Severity.WARNING, 0.9, Subject("job"), "slow")
    raised = FindingRaised(time=stamp(0), incarnation=0, id=1, finding=finding)
    narrowed = Narrowed(time=stamp(0), incarnation=0, iteration=1, cause="weather")
    assert Episode(raised, 0, 0.1, narrowed=narrowed).suspicion().cause is Cause.UNCLEAR


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_a_link_counts_where_its_times_can_be_compared(bad: float) -> None:
    times = {(0, 1): (2.0, 1.0), (1, 2): (bad, 1.0), (2, 3): (1.0, bad)}
    probes = [
        LinkProbe(source=link[0], target=link[1], bytes=1, seconds=seconds, expected=expected)
        for link, (seconds, expected) in times.items()
    ]
    assert slowed(probes) == {(0, 1): 2.0}


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf"), 1e300, None, "0.1"])
def test_what_cannot_be_the_seconds_of_an_iteration_says_nothing(bad: float | str | None) -> None:
    evidence = Evidence(source="iterations", metric=LOST, value=bad)
    finding = Finding("slow-throughput", Severity.WARNING, 0.9, Subject("job"), "slow", evidence=(evidence,))
    assert told(finding, LOST) == 0.0
