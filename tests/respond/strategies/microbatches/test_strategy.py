"""When uneven micro-batches help, what they bring, and how they are taken back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenpace.respond.strategies import Cause, Job, MicroBatchOffer, Strategy, Trouble
from evenpace.respond.strategies.microbatches.strategy import MicroBatchStrategy

OFFER = MicroBatchOffer(32, ((0,), (1,), (2,), (3,)))
TROUBLE = Trouble(Cause.COMPUTE, healthy=0.9, now=1.7, factors={3: 2.0})
JOB = Job(
    ranks=(0, 1, 2, 3),
    nodes={},
    own={0: 0.8, 1: 0.8, 2: 0.8, 3: 1.6},
    micro_batch={0: 0.1, 1: 0.1, 2: 0.1, 3: 0.2},
    counts=(8, 8, 8, 8),
    microbatches=OFFER,
)


@pytest.fixture
def strategy() -> Strategy:
    return MicroBatchStrategy()


def test_the_slow_replica_gets_fewer(strategy: Strategy) -> None:
    found = strategy.estimate(TROUBLE, JOB)
    assert found is not None
    assert sum(found.counts) == 32
    assert found.counts[3] == 5
    assert found.iteration == pytest.approx(0.1 + 1.0)  # what is not the replicas' own stays
    assert found.cost == pytest.approx(0.9)


def test_what_is_in_force_is_no_reason_to_change_again(strategy: Strategy) -> None:
    counts = (9, 9, 9, 5)
    own = {0: 0.9, 1: 0.9, 2: 0.9, 3: 1.0}
    found = strategy.estimate(TROUBLE, replace(JOB, counts=counts, own=own))
    assert found is not None
    assert found.counts == counts
    assert found.iteration == pytest.approx(1.1)


def test_what_a_step_needs_besides_is_counted(strategy: Strategy) -> None:
    own = {0: 0.8, 1: 0.8, 2: 0.8, 3: 2.0}  # 0.4 s that fewer micro-batches do not save
    found = strategy.estimate(replace(TROUBLE, now=2.1), replace(JOB, own=own))
    assert found is not None
    assert found.counts[3] == 3
    assert found.iteration == pytest.approx(0.1 + 1.0)


def test_a_replica_is_as_slow_as_its_slowest_rank(strategy: Strategy) -> None:
    offer = MicroBatchOffer(16, ((0, 1), (2, 3)))
    found = strategy.estimate(TROUBLE, replace(JOB, microbatches=offer, counts=(8, 8)))
    assert found is not None
    assert found.counts == (11, 5)


def test_each_replica_keeps_as_many_as_its_time_can_be_measured_of(strategy: Strategy) -> None:
    slow = replace(JOB, micro_batch=JOB.micro_batch | {3: 1.0}, own=JOB.own | {3: 4.0}, counts=(4, 4, 4, 4))
    found = strategy.estimate(TROUBLE, replace(slow, microbatches=replace(OFFER, total=16)))
    assert found is not None
    assert found.counts[3] == 2


@pytest.mark.parametrize(
    ("trouble", "job"),
    [
        (replace(TROUBLE, cause=Cause.LINK), JOB),
        (TROUBLE, replace(JOB, microbatches=None)),
        (TROUBLE, replace(JOB, micro_batch={0: 0.1, 1: 0.1, 2: 0.1})),
        (TROUBLE, replace(JOB, micro_batch=dict.fromkeys(range(4), 0.1), own=dict.fromkeys(range(4), 0.8))),
        (TROUBLE, replace(JOB, microbatches=MicroBatchOffer(4, OFFER.replicas), counts=(1, 1, 1, 1))),
        (TROUBLE, replace(JOB, microbatches=MicroBatchOffer(32, ()), counts=())),
    ],
    ids=["a link", "no offer", "a rank not measured", "noise", "nothing to move", "no replicas"],
)
def test_it_knows_when_it_cannot_help(strategy: Strategy, trouble: Trouble, job: Job) -> None:
    assert strategy.estimate(trouble, job) is None


def test_it_is_taken_back_to_even_counts(strategy: Strategy) -> None:
    found = strategy.healthy(replace(JOB, counts=(9, 9, 9, 5)))
    assert found is not None
    assert found.counts == (8, 8, 8, 8)


def test_even_counts_need_not_be_taken_back(strategy: Strategy) -> None:
    assert strategy.healthy(JOB) is None
    assert strategy.healthy(replace(JOB, counts=())) is None
    assert strategy.healthy(replace(JOB, microbatches=None)) is None
