"""The kernel's evidence: told only where it sets the worker apart from its peers."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import pytest

from evenpace.collect.job.processes import ProcessFacts
from evenpace.detect.attribution import SlowKind, SlowVerdict
from evenpace.watch.starvation import cpu_share, kernel_evidence, set_apart, single_out
from evenpace.watch.worker import WorkerId

SECOND = 1_000_000_000


@dataclass
class Looked:
    """As much of a worker as is looked at here."""

    rank: int
    samples: deque[tuple[int, ProcessFacts]] = field(default_factory=deque)

    @property
    def id(self) -> WorkerId:
        return WorkerId(self.rank, 0, f"node{self.rank}", 100 + self.rank)


def looked(rank: int, *, delay: float = 0.0, stopped: int = 0, looks: int = 10) -> Looked:
    """Return a worker seen once a second: stopped in some looks, without a CPU for `delay` of each second."""
    found = Looked(rank)
    for second in range(looks):
        state = "T" if second < stopped else "R"
        found.samples.append((second * SECOND, ProcessFacts(1, state, 0, second * 0.5, second * delay)))
    return found


def test_shares_are_of_the_time_that_was_looked_at() -> None:
    share = cpu_share(looked(0, delay=0.3, stopped=4), 0)  # type: ignore[arg-type]
    assert share is not None
    assert (share.stopped, share.starved, share.running) == pytest.approx((0.4, 0.3, 0.5))
    assert cpu_share(looked(0), 9 * SECOND) is None  # type: ignore[arg-type]


def test_a_stopped_worker_among_running_ones_is_told() -> None:
    found = kernel_evidence(looked(1, stopped=6), [looked(0), looked(2)], 0)  # type: ignore[arg-type,list-item]
    assert [item.value for item in found] == [0.6]


def test_a_crowded_machine_sets_nobody_apart() -> None:
    crowd = [looked(rank, delay=0.4) for rank in range(3)]
    assert kernel_evidence(crowd[0], crowd[1:], 0) == []  # type: ignore[arg-type]


def test_without_peers_there_is_nothing_to_compare() -> None:
    assert kernel_evidence(looked(0, stopped=9), [], 0) == []  # type: ignore[arg-type]


def test_who_is_set_apart() -> None:
    workers = [looked(0, delay=0.05), looked(1, stopped=5), looked(2, delay=0.6), looked(3), looked(4)]
    assert set_apart(workers, 0) == (1, 2)  # type: ignore[arg-type]
    assert set_apart(workers[:3], 0) == ()  # type: ignore[arg-type]
    assert set_apart(workers[:4], 0) == (1, 2)  # type: ignore[arg-type]
    assert set_apart([looked(0, stopped=2, looks=3), looked(1), looked(2)], 0) == ()  # type: ignore[arg-type,list-item]
    assert set_apart([], 0) == ()


def test_who_is_set_apart_is_named_where_transfers_hide_it() -> None:
    verdict = SlowVerdict(SlowKind.COMMUNICATION, excess={0: 0.0, 1: 0.05, 2: 0.01}, lost=0.2, transfer=0.18)
    named = single_out(verdict, (1,))
    assert named is not None
    assert (named.kind, named.culprits) == (SlowKind.NON_COMMUNICATION, (1,))


def test_a_link_to_who_is_stopped_is_not_slow() -> None:
    verdict = SlowVerdict(SlowKind.COMMUNICATION, link=(0, 1), excess={0: 0.0, 1: 0.01}, lost=0.2)
    named = single_out(verdict, (1,))
    assert named is not None
    assert (named.kind, named.culprits, named.link) == (SlowKind.NON_COMMUNICATION, (1,), None)


def test_who_is_set_apart_beside_a_culprit_is_named_with_it() -> None:
    verdict = SlowVerdict(SlowKind.NON_COMMUNICATION, (1,), excess={0: 0.0, 1: 0.2, 2: 0.05}, lost=0.2)
    named = single_out(verdict, (1, 2))
    assert named is not None
    assert named.culprits == (1, 2)
    assert single_out(verdict, (1,)) is None
    assert single_out(verdict, (2,)) is None


@pytest.mark.parametrize(
    ("verdict", "apart"),
    [
        (SlowVerdict(SlowKind.UNCLEAR, excess={0: 0.0, 1: 0.05}, lost=0.2), ()),
        (SlowVerdict(SlowKind.UNCLEAR, excess={0: 0.09, 1: 0.05}, lost=0.2), (1,)),
        (SlowVerdict(SlowKind.UNCLEAR, excess={0: -0.01, 1: -0.05}, lost=0.2), (0,)),
        (SlowVerdict(SlowKind.THROUGHPUT, excess={0: 0.1, 1: 0.2}, lost=0.2), (1,)),
        (SlowVerdict(SlowKind.COMMUNICATION, link=(0, 1), excess={0: 0.0, 1: 0.0, 2: 0.1}, lost=0.2), (2,)),
        (SlowVerdict(SlowKind.UNCLEAR), (1,)),
    ],
)
def test_the_kernel_alone_names_nobody(verdict: SlowVerdict, apart: tuple[int, ...]) -> None:
    assert single_out(verdict, apart) is None
