from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.attribution import SlowKind, attribute
from evenpace.detect.growth import Stretch


def stretch(seed, count, *, ranks=8, noise=0.03, own=None, waits=None, transfer=0.0, edges=None):
    """Build iterations of about 1 s of work and 0.3 s of transfer; `own`, `waits`: seconds added, by rank."""
    rng = np.random.default_rng(seed)
    busy = np.exp(rng.normal(0, noise, (count, ranks)))
    for rank, seconds in (own or {}).items():
        busy[:, rank] += seconds
    waiting = busy.max(axis=1, keepdims=True) - busy
    for rank, seconds in (waits or {}).items():
        waiting[:, rank] += seconds
    moved = (0.3 + transfer) * np.exp(rng.normal(0, noise, (count, 1))) * np.ones((1, ranks))
    durations = np.median(busy + waiting + moved, axis=1)
    times = {edge: seconds * np.exp(rng.normal(0, noise, count)) for edge, seconds in (edges or {}).items()}
    return Stretch(durations, busy, waiting, moved, times)


def verdict(slow, ranks=8, nodes=None, healthy=None):
    nodes = nodes or {rank: f"node{rank}" for rank in range(ranks)}
    return attribute(healthy or stretch(99, 30, ranks=ranks), slow, range(ranks), nodes)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 7), st.floats(0.4, 4), st.integers(0, 10_000))
def test_the_slow_rank_is_named(victim, seconds, seed):
    said = verdict(stretch(seed, 5, own={victim: seconds}))
    assert (said.kind, said.culprits) == (SlowKind.NON_COMMUNICATION, (victim,))
    assert said.share > 0.6
    assert said.excess[victim] == pytest.approx(seconds, rel=0.2)


@given(st.integers(0, 7), st.floats(0.4, 1), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_a_stopped_process_also_slows_the_transfer(victim, seconds, seed):
    said = verdict(stretch(seed, 5, own={victim: seconds}, transfer=seconds))
    assert said.culprits == (victim,)


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 0.1), st.integers(0, 10_000), st.integers(4, 20))
def test_a_healthy_stretch_names_nobody(noise, seed, count):
    said = verdict(stretch(seed, count, noise=noise), healthy=stretch(seed + 1, 30, noise=noise))
    assert said.culprits == ()
    assert said.link is None


def test_a_node_is_named_by_its_ranks():
    nodes = {rank: "ab"[rank // 4] for rank in range(8)}
    said = verdict(stretch(1, 6, own=dict.fromkeys(range(4, 8), 0.6)), nodes=nodes)
    assert said.culprits == (4, 5, 6, 7)


@settings(max_examples=40, deadline=None)
@given(st.sets(st.integers(0, 7), min_size=2, max_size=4), st.floats(0.5, 2), st.integers(0, 1000))
def test_ranks_of_several_nodes_that_are_slow_at_once_are_named_together(victims, seconds, seed):
    said = verdict(stretch(seed, 3, own=dict.fromkeys(victims, seconds)))
    assert (said.kind, said.culprits) == (SlowKind.NON_COMMUNICATION, tuple(sorted(victims)))


def test_more_than_half_of_the_ranks_are_not_several_culprits():
    assert verdict(stretch(1, 6, own=dict.fromkeys(range(5), 0.6))).culprits == ()


def test_a_third_rank_that_grew_a_little_makes_several_unclear():
    said = verdict(stretch(1, 6, own={1: 0.6, 5: 0.6, 6: 0.25}))
    assert (said.kind, said.culprits) == (SlowKind.UNCLEAR, ())
    assert said.missing


def test_half_of_a_single_node_is_not_a_node():
    said = verdict(stretch(1, 6, own={1: 0.6, 5: 0.6}), nodes=dict.fromkeys(range(8), "a"))
    assert said.culprits == ()


def test_all_slow_together():
    said = verdict(stretch(1, 12, own=dict.fromkeys(range(8), 0.5), transfer=0.2))
    assert (said.kind, said.culprits) == (SlowKind.THROUGHPUT, ())


def test_a_few_iterations_do_not_make_all_slow():
    assert verdict(stretch(1, 5, own=dict.fromkeys(range(8), 0.5))).kind is SlowKind.UNCLEAR


def test_three_iterations_of_a_much_longer_transfer_are_enough():
    said = verdict(stretch(1, 3, transfer=0.6))
    assert (said.kind, said.culprits, said.link) == (SlowKind.COMMUNICATION, (), None)


def test_three_iterations_of_a_little_longer_transfer_are_not():
    assert verdict(stretch(1, 3, transfer=0.12)).kind is SlowKind.UNCLEAR


def test_of_three_iterations_all_must_say_the_same():
    slow = stretch(1, 3, own={3: 0.5})
    slow.busy[1, 3], slow.busy[1, 5] = slow.busy[1, 5], slow.busy[1, 3]
    assert verdict(slow).culprits == ()


def test_slow_transfer_names_nobody_and_says_what_would():
    said = verdict(stretch(1, 12, transfer=0.6))
    assert (said.kind, said.culprits, said.link) == (SlowKind.COMMUNICATION, (), None)
    assert "probe" in said.missing[0]


def test_slow_transfer_with_a_hint_of_one_rank_is_unclear():
    assert verdict(stretch(1, 12, transfer=0.6, own={3: 0.12})).culprits == ()


def edges(slow=(), seconds=0.5):
    return {(a, b): seconds if (a, b) in slow else 0.05 for a in range(8) for b in ((a + 1) % 8, (a + 2) % 8)}


def with_edges(*slow, count=12, own=None, transfer=0.5):
    healthy = stretch(99, 30, edges=edges())
    return verdict(stretch(1, count, transfer=transfer, own=own, edges=edges(slow)), healthy=healthy)


@pytest.mark.parametrize("count", [3, 12])
def test_one_slow_pair_is_a_link(count):
    said = with_edges((2, 3), count=count)
    assert (said.kind, said.link, said.culprits) == (SlowKind.COMMUNICATION, (2, 3), ())


def test_a_pair_that_is_slow_because_its_receiver_is_slow_is_no_link():
    said = with_edges((2, 3), own={3: 0.6}, transfer=0.0)
    assert (said.kind, said.link, said.culprits) == (SlowKind.NON_COMMUNICATION, None, (3,))


def test_a_slow_rank_and_a_link_elsewhere_are_both_named():
    said = with_edges((2, 3), own={6: 0.6}, count=3)
    assert (said.kind, said.link, said.culprits) == (SlowKind.NON_COMMUNICATION, (2, 3), (6,))


def test_all_links_of_a_rank_are_the_rank():
    said = with_edges((2, 3), (2, 4), (1, 2))
    assert (said.culprits, said.link) == ((2,), None)


def test_links_all_over_name_nobody():
    said = with_edges((2, 3), (5, 6), (7, 0))
    assert (said.kind, said.culprits, said.link) == (SlowKind.COMMUNICATION, (), None)
    assert said.missing


def test_the_one_with_more_work_that_nobody_waits_for_is_not_blamed():
    slow = stretch(1, 12, own={3: 0.5})
    idle = Stretch(slow.durations, slow.busy, np.zeros_like(slow.waiting), slow.transfer)
    assert verdict(idle).culprits == ()


def test_the_one_that_waits_more_than_others_is_not_blamed():
    assert verdict(stretch(1, 12, own={3: 0.5}, waits={3: 1.0})).culprits == ()


def test_a_faster_stretch_is_unclear():
    faster = stretch(1, 12)
    healthy = stretch(2, 30, own=dict.fromkeys(range(8), 1.0))
    assert verdict(faster, healthy=healthy).kind is SlowKind.UNCLEAR


def test_stages_of_unequal_work_that_slow_down_together_are_not_a_culprit():
    """The stage with more work loses more seconds, and the other one waits for it, as always."""
    rng = np.random.default_rng(5)
    nodes = {rank: "ab"[rank // 4] for rank in range(8)}

    def pipeline(count, factor):
        busy = factor * np.repeat([1.0, 0.4], 4) * np.exp(rng.normal(0, 0.02, (count, 8)))
        transfer = np.full((count, 8), 0.2)
        waiting = busy.max(axis=1, keepdims=True) - busy
        return Stretch((busy + waiting + transfer)[:, 0], busy, waiting, transfer)

    said = verdict(pipeline(12, 1.5), nodes=nodes, healthy=pipeline(30, 1.0))
    assert (said.kind, said.culprits) == (SlowKind.THROUGHPUT, ())


def test_a_slow_stage_is_named_though_it_had_slack():
    rng = np.random.default_rng(6)

    def pipeline(count, factor):
        busy = np.repeat([1.0, 0.4], 4) * np.exp(rng.normal(0, 0.02, (count, 8)))
        busy[:, 5] *= factor
        waiting = busy.max(axis=1, keepdims=True) - busy
        return Stretch((busy + waiting)[:, 0] + 0.2, busy, waiting, np.full((count, 8), 0.2))

    assert verdict(pipeline(12, 4.0), healthy=pipeline(30, 1.0)).culprits == (5,)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_a_rank_with_more_work_is_not_slow(seed):
    """Experts: own time follows the bytes that were routed to a rank, and rank 3's are in demand now."""
    rng = np.random.default_rng(seed)

    def routed(count, demand, factor=1.0):
        load = rng.uniform(0.8, 1.2, (count, 8)) * np.where(np.arange(8) == 3, demand, 1.0)
        busy = (0.4 + 0.6 * load) * np.exp(rng.normal(0, 0.02, (count, 8)))
        busy[:, 5] *= factor
        waiting = busy.max(axis=1, keepdims=True) - busy
        transfer = np.full((count, 8), 0.2)
        return Stretch((busy + waiting + transfer)[:, 0], busy, waiting, transfer, work=load[:, :, None])

    healthy = routed(30, 1.0)
    assert verdict(routed(8, 1.6), healthy=healthy).culprits == ()
    assert verdict(routed(8, 1.0, factor=2.0), healthy=healthy).culprits == (5,)
