"""The demo's own verdict: strict about who is accused."""

from __future__ import annotations

import pytest

from evenpace import faults
from evenpace.demo.judge import Proof, findings, right
from evenpace.demo.lineage import Lineage
from evenpace.demo.story import Injected
from evenpace.findings import Finding, Severity, Subject
from evenpace.watch.events import FindingRaised

NOW = "2026-01-01T00:00:00.000Z"
INJECTED = [
    Injected(faults.find("slow"), 1, "node1", 0.0),
    Injected(faults.find("hang-stopped"), 3, "node3", 0.0),
]


def finding(fault: str, node: str | list[str] | None) -> Finding:
    return Finding(fault, Severity.WARNING, 0.9, Subject("rank", node=node), "")


SLOW, HANG = finding("non-communication-slow", "node1"), finding("non-communication-hang", "node3")


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([SLOW, HANG], True),
        ([HANG, SLOW, finding("slow-throughput", None)], True),
        ([SLOW], False),
        ([SLOW, HANG, finding("worker-killed", "node0")], False),
        ([SLOW, HANG, finding("non-communication-slow", ["node1", "node2"])], False),
        ([finding("non-communication-slow", "node3"), finding("non-communication-hang", "node1")], False),
    ],
)
def test_both_and_nobody_else(found: list[Finding], verdict: bool) -> None:
    assert right(found, INJECTED) is verdict


def test_a_finding_counts_as_it_stood_last() -> None:
    events = [
        FindingRaised(time=NOW, incarnation=0, id=number, finding=one)
        for number, one in [(0, finding("non-communication-slow", "node0")), (1, HANG), (0, SLOW)]
    ]
    assert findings(events) == [SLOW, HANG]


@pytest.mark.parametrize(
    ("loss", "reference", "same"),
    [(1.0, 1.0 + 9e-7, True), (1.0, 1.00001, False), (None, 1.0, False), (1.0, None, False)],
)
def test_losses_agree_to_a_millionth(loss: float | None, reference: float | None, same: bool) -> None:
    assert Proof(Lineage(1, 1, 0), loss, reference).same_loss is same
