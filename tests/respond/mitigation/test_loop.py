"""What rings say of a loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evenpace.respond.mitigation.announcing import Offers
from evenpace.respond.mitigation.loop import look

from .conftest import RANKS, Run

Maker = Callable[..., Run]


def rings(run: Run) -> dict[int, Path]:
    return {rank: Path(ring.path) for rank, ring in run.rings.items()}


def test_a_job_without_a_loop_of_ours_says_nothing(job: Maker) -> None:
    loop = look(rings(job()))
    assert loop.complete
    assert (loop.version, loop.counts, loop.micro_batch, loop.factors()) == (0, (), {}, {})


def test_factors_are_to_the_median_of_all(job: Maker) -> None:
    run = job()
    run.offer()
    run.measure({1: 2.0})
    loop = look(rings(run))
    assert loop.factors() == pytest.approx({0: 1.0, 1: 2.0, 2: 1.0, 3: 1.0})
    assert loop.counts == (4, 4, 4, 4)


def test_stages_are_compared_among_themselves(job: Maker) -> None:
    run = job()
    run.offer({"positions": {"pipeline": 2, "data": 2, "ranks": [0, 2, 1, 3], "bytes": [1, 1]}})
    run.measure({1: 3.0, 3: 3.0})
    assert look(rings(run)).factors() == pytest.approx(dict.fromkeys(range(RANKS), 1.0))


def test_one_worker_that_measures_nothing_leaves_all_unknown(job: Maker) -> None:
    run = job()
    run.measure({})
    run.rings[3].set(micro_batch_ns=0)
    assert look(rings(run)).factors() == {}


def test_a_plan_is_in_force_where_every_rank_says_so(job: Maker) -> None:
    run = job()
    for rank in range(RANKS - 1):
        run.rings[rank].set(plan_version=2, plan_step=7, plan_pause_ns=5 * 10**8)
    assert not look(rings(run)).in_force(2)
    run.rings[3].set(plan_version=2, plan_step=7, plan_pause_ns=9 * 10**8)
    loop = look(rings(run))
    assert (loop.in_force(2), loop.version, loop.plan_step, loop.plan_pause) == (True, 2, 7, 0.9)


def test_a_worker_whose_ring_is_gone_makes_it_incomplete(job: Maker) -> None:
    run = job()
    Path(run.rings[2].path).unlink()
    assert not look(rings(run)).complete
    assert not look({}).complete


@pytest.mark.parametrize(
    "said",
    [
        {"microbatches": {"total": 16, "replicas": [[0], [1], [2], [99]]}},
        {"microbatches": {"total": 16, "replicas": [[0], [1], [2], [2]]}},
        {"microbatches": {"total": 16, "replicas": [[-1], [1], [2], [3]]}},
        {"positions": {"pipeline": 1, "data": 3, "ranks": [0, 1, 2], "bytes": [1]}},
        {"positions": {"pipeline": 1, "data": 80_000, "ranks": list(range(80_000)), "bytes": [1]}},
    ],
)
def test_an_offer_that_is_not_about_the_ranks_of_the_job_is_none(job: Maker, said: object) -> None:
    run = job()
    run.offer(said)
    assert look(rings(run)).offers == Offers()


def test_counts_that_no_step_can_have_are_not_known(job: Maker) -> None:
    run = job()
    run.offer()
    run.measure({})
    run.rings[1].set(micro_batches=(1 << 64) - 1)
    assert look(rings(run)).counts == ()
