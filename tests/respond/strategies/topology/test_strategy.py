"""What the strategy answers, and when it has none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenpace.respond.strategies import Cause, Job, PositionOffer, Trouble
from evenpace.respond.strategies.topology.shaping import seated, shape_of
from evenpace.respond.strategies.topology.strategy import TopologyStrategy

RING = 4_000_000
OFFER = PositionOffer(2, 4, tuple(range(8)), (10_000_000, 10_000_000), micro_batches=8)
ONE_STAGE = PositionOffer(1, 8, tuple(range(8)), (10_000_000,), micro_batches=8)
JOB = Job(
    ranks=tuple(range(8)),
    nodes={rank: f"node{rank // 4}" for rank in range(8)},
    own=dict.fromkeys(range(8), 0.8),
    traffic={(0, 1): RING, (1, 2): RING, (4, 5): RING, (0, 4): RING // 10},
    positions=OFFER,
)
LINK = Trouble(Cause.LINK, healthy=1.0, now=2.0, links={(1, 2): 5.0})


def test_a_slow_link_of_a_ring_is_taken_out_of_it() -> None:
    found = TopologyStrategy().estimate(LINK, JOB)
    assert found is not None
    assert found.iteration == pytest.approx(1.0)
    assert sorted(found.positions) == list(range(8))
    assert abs(found.positions[1] - found.positions[2]) == 2
    assert 0 < found.cost < 5


def test_in_force_it_is_still_the_answer_and_does_not_change() -> None:
    found = TopologyStrategy().estimate(LINK, JOB)
    assert found is not None
    again = TopologyStrategy().estimate(LINK, replace(JOB, positions=replace(OFFER, ranks=found.positions)))
    assert again is not None
    assert again.positions == found.positions


def test_slow_ranks_of_one_pipeline_go_apart() -> None:
    slow = Trouble(Cause.COMPUTE, healthy=1.0, now=2.0, factors={1: 2.0, 5: 2.0})
    own = {**JOB.own, 1: 1.6, 5: 1.6}
    found = TopologyStrategy().estimate(slow, replace(JOB, own=own))
    assert found is not None
    assert found.positions[1] % 4 != found.positions[5] % 4
    assert 1.0 < found.iteration < 2.0


@pytest.mark.parametrize(
    ("trouble", "job"),
    [
        (LINK, replace(JOB, positions=None)),
        (LINK, replace(JOB, own={})),
        (Trouble(Cause.UNCLEAR, 1.0, 2.0), JOB),
        (replace(LINK, now=0.9), JOB),
        (replace(LINK, links={(1, 9): 5.0}), JOB),
        (replace(LINK, links={(1, 3): 5.0}), JOB),  # carries nothing
        (Trouble(Cause.COMPUTE, 1.0, 2.0, factors={0: 2.0}), JOB),  # is in the best place
        (Trouble(Cause.COMPUTE, 1.0, 2.0, factors={0: 2.0}), replace(JOB, positions=ONE_STAGE)),
    ],
)
def test_it_cannot_help(trouble: Trouble, job: Job) -> None:
    assert TopologyStrategy().estimate(trouble, job) is None


def test_a_ring_that_was_not_seen_is_not_taken_for_idle() -> None:
    little = {(4, 5): 40, (5, 6): 40, (6, 7): 40}  # the world's
    seen = replace(JOB, traffic={(0, 1): RING, (1, 2): RING, (2, 3): RING} | little)
    ranks = seated(OFFER.ranks, 2)
    shape = shape_of(seen, OFFER, LINK, ranks)
    assert shape is not None
    assert shape.gradients[0] == shape.gradients[1] > 0


def test_it_goes_back_where_neighbours_shared_nodes_before() -> None:
    strategy = TopologyStrategy()
    assert strategy.healthy(JOB) is None
    apart = replace(OFFER, ranks=(4, 1, 2, 3, 0, 5, 6, 7))
    back = strategy.healthy(replace(JOB, positions=apart))
    assert back is not None
    assert back.positions == tuple(range(8))
    within = replace(OFFER, ranks=(0, 1, 3, 2, 4, 5, 7, 6))
    assert strategy.healthy(replace(JOB, positions=within)) is None
