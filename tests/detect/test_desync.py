from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.desync import Difference, Signature, judge

ITERATION = [
    Signature("broadcast", 64, 0),
    Signature("all_reduce", 4096),
    Signature("all_reduce", 1024),
    Signature("all_gather_into_tensor", 512),
    Signature("barrier"),
]


def program(iterations=4):
    return ITERATION * iterations


def desync(odd, victim=1, ranks=4, first=0):
    return judge(7, first, {rank: odd if rank == victim else program() for rank in range(ranks)})


def without(at):
    return program()[:at] + program()[at + 1 :]


@settings(deadline=None)
@given(st.integers(3, 16), st.data())
def test_skipped(ranks, data):
    victim, at = data.draw(st.integers(0, ranks - 1)), data.draw(st.integers(0, 17))
    found = desync(without(at), victim, ranks)
    assert found.sequence == at
    assert dict(found.culprits) == {victim: Difference.SKIPPED}
    assert found.expected == program()[at]


@settings(deadline=None)
@given(st.integers(3, 16), st.data())
def test_extra(ranks, data):
    victim, at = data.draw(st.integers(0, ranks - 1)), data.draw(st.integers(0, 18))
    odd = [*program()[:at], Signature("reduce", 9, 0), *program()[at:]]
    assert dict(desync(odd, victim, ranks).culprits) == {victim: Difference.EXTRA}


@settings(deadline=None)
@given(st.integers(3, 16), st.data())
def test_shape(ranks, data):
    victim, at = data.draw(st.integers(0, ranks - 1)), data.draw(st.sampled_from([1, 2, 3, 6, 12]))
    odd = program()
    odd[at] = odd[at]._replace(bytes=odd[at].bytes + 4)
    found = desync(odd, victim, ranks)
    assert (found.sequence, dict(found.culprits)) == (at, {victim: Difference.SHAPE})


def test_stuck_right_there():
    """Nobody got past the operation: what should have followed is read from the iteration before."""
    at = 11
    history = {rank: program()[: at + 1] for rank in range(4)}
    history[2] = without(at)[: at + 1]
    assert dict(judge(7, 0, history).culprits) == {2: Difference.SKIPPED}


def test_another_operation_altogether():
    odd = [*program()[:5], Signature("gather", 8, 0)]
    assert dict(desync(odd).culprits) == {1: Difference.OTHER}


def test_another_root():
    odd = program()
    odd[5] = Signature("broadcast", 64, 3)
    assert dict(desync(odd).culprits) == {1: Difference.SHAPE}


@settings(deadline=None)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=16))
def test_a_rank_behind_is_not_out_of_step(lengths):
    assert judge(7, 0, {rank: program()[:length] for rank, length in enumerate(lengths)}) is None


@pytest.mark.parametrize(
    "kind", ["all_to_all", "all_to_all_single", "gather", "scatter", "all_gather", "barrier"]
)
def test_sizes_that_may_differ(kind):
    assert judge(7, 0, {rank: [Signature(kind, rank)] for rank in range(4)}) is None


def test_no_majority_blames_nobody():
    found = judge(7, 0, {0: [Signature("barrier")], 1: [Signature("all_reduce", 8)]})
    assert found.culprits == {}
    assert found.missing
    half = judge(7, 0, {rank: [Signature("barrier" if rank % 2 else "gather")] for rank in range(6)})
    assert half.culprits == {}


def test_what_the_tap_could_not_name_is_not_compared():
    assert (
        judge(7, 0, {0: [Signature("unknown")], 1: [Signature("barrier")], 2: [Signature("barrier")]}) is None
    )


def test_sequences_count_from_the_first():
    assert desync(without(3), first=1000).sequence == 1003


def test_nothing_recorded():
    assert judge(7, 0, {}) is None
