from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.waitfor import (
    RECEIVES_FROM_ANYBODY,
    HangKind,
    Pending,
    RankState,
    Snapshot,
    judge,
    patience,
    stalled,
)

STUCK_AT = 100.0
QUIET_SINCE = 105.0


@dataclass(frozen=True)
class Operation:
    """A collective of `group`, or one side of a transfer between a rank and `peer`."""

    group: int
    peer: int | None = None
    sends: bool = False


class Training:
    """Programs of a DP x PP x TP job, run until nothing moves; every operation blocks its rank."""

    def __init__(self, dp, pp, tp, micro_batches=2, steps=2):
        self.groups = {0: tuple(range(dp * pp * tp))}
        self.programs = {rank: [] for rank in self.groups[0]}
        self.dp, self.pp, self.tp = dp, pp, tp
        tensor = {
            (d, p): self._group(self._at(d, p, t) for t in range(tp))
            for d, p in product(range(dp), range(pp))
        }
        data = {
            (p, t): self._group(self._at(d, p, t) for d in range(dp))
            for p, t in product(range(pp), range(tp))
        }
        pipe = {
            (d, t): self._group(self._at(d, p, t) for p in range(pp))
            for d, t in product(range(dp), range(tp))
        }
        for d, p, t in product(range(dp), range(pp), range(tp)):
            up = self._way(pipe[d, t], d, p, t, tensor[d, p])
            self.programs[self._at(d, p, t)] = (
                up * micro_batches + [Operation(data[p, t]), Operation(0)]
            ) * steps

    def _at(self, d, p, t):
        return (d * self.pp + p) * self.tp + t

    def _group(self, members):
        self.groups[len(self.groups)] = tuple(members)
        return len(self.groups) - 1

    def _way(self, pipe, d, p, t, tensor):
        before, after = self._at(d, p - 1, t), self._at(d, p + 1, t)
        receive = [Operation(pipe, before)] if p else []
        send = [Operation(pipe, after, sends=True)] if p < self.pp - 1 else []
        back_in = [Operation(pipe, after)] if p < self.pp - 1 else []
        back_out = [Operation(pipe, before, sends=True)] if p else []
        return receive + [Operation(tensor)] * 2 + send + back_in + [Operation(tensor)] + back_out

    def run(self, victim=None, at=0):
        """Return how many operations each rank completed; the victim stops before its operation `at`."""
        done = dict.fromkeys(self.programs, 0)
        while moved := [rank for rank in done if self._completes(rank, done, victim, at)]:
            for rank in moved:
                done[rank] += 1
        return done

    def _current(self, rank, done, victim=None, at=0):
        stopped = rank == victim and done[rank] >= at
        return None if stopped or done[rank] >= len(self.programs[rank]) else self.programs[rank][done[rank]]

    def _completes(self, rank, done, victim, at):
        one = self._current(rank, done, victim, at)
        if one is None:
            return False
        mine = Counter(self.programs[rank][: done[rank]])[one]
        others = self.groups[one.group] if one.peer is None else (one.peer,)
        return all(self._entered(other, self._mirror(rank, one), done, victim, at) > mine for other in others)

    @staticmethod
    def _mirror(rank, one):
        return one if one.peer is None else Operation(one.group, rank, not one.sends)

    def _entered(self, rank, one, done, victim, at):
        now = self._current(rank, done, victim, at)
        return Counter(self.programs[rank][: done[rank]])[one] + (now == one)

    def snapshot(self, victim=None, at=0, blocked=True):
        done = self.run(victim, at)
        states = {rank: self._state(rank, done, victim, at, blocked) for rank in done}
        return Snapshot(self.groups, states)

    def _state(self, rank, done, victim, at, blocked):
        now = self._current(rank, done, victim, at)
        past = Counter(self.programs[rank][: done[rank]] + ([now] if now else []))
        pending = ()
        if now:
            pending = (Pending(now.group, "op", past[now] - 1, STUCK_AT, 8, now.peer, now.sends),)
        return RankState(
            entered={one.group: count for one, count in past.items() if one.peer is None},
            sent={(one.group, one.peer): n for one, n in past.items() if one.peer is not None and one.sends},
            received={
                (one.group, one.peer): n for one, n in past.items() if one.peer is not None and not one.sends
            },
            pending=pending,
            blocked=blocked and bool(now) if blocked is not None else None,
            active=STUCK_AT,
        )


layouts = st.sampled_from(
    [(8, 1, 1), (2, 2, 2), (1, 4, 2), (4, 2, 2), (2, 4, 4), (3, 3, 1), (1, 8, 1), (1, 1, 8)]
)


def changed(snapshot, rank, **changes):
    ranks = dict(snapshot.ranks)
    ranks[rank] = replace(ranks[rank], **changes)
    return Snapshot(snapshot.groups, ranks)


@settings(max_examples=60, deadline=None)
@given(layouts, st.randoms(use_true_random=False), st.sampled_from([True, None]))
def test_exactly_the_hung_rank_is_named(layout, rng, blocked):
    job = Training(*layout)
    victim = rng.choice(list(job.programs))
    at = rng.randrange(len(job.programs[victim]))
    verdict = judge(job.snapshot(victim, at, blocked), QUIET_SINCE)
    assert verdict.kind is HangKind.NON_COMMUNICATION
    assert verdict.culprits == (victim,)
    assert victim not in verdict.victims


@settings(max_examples=40, deadline=None)
@given(layouts, st.randoms(use_true_random=False))
def test_a_process_stopped_inside_an_operation_is_named(layout, rng):
    job = Training(*layout)
    victim = rng.choice(list(job.programs))
    at = rng.randrange(len(job.programs[victim]))
    snapshot = job.snapshot(victim, at)
    one, state = job.programs[victim][at], snapshot.ranks[victim]
    side = "entered" if one.peer is None else "sent" if one.sends else "received"
    key = one.group if one.peer is None else (one.group, one.peer)
    count = getattr(state, side).get(key, 0)
    pending = (Pending(one.group, "op", count, STUCK_AT, 8, one.peer, one.sends),)
    stopped = changed(
        snapshot,
        victim,
        pending=pending,
        blocked=True,
        alive=False,
        **{side: {**getattr(state, side), key: count + 1}},
    )
    assert judge(stopped, QUIET_SINCE).culprits == (victim,)


@pytest.mark.parametrize("layout", [(512, 1, 1), (8, 8, 8)])
def test_512_ranks(layout):
    job = Training(*layout, micro_batches=1, steps=1)
    for victim in (0, 77, 511):
        at = victim % len(job.programs[victim])
        assert judge(job.snapshot(victim, at), QUIET_SINCE).culprits == (victim,)


@settings(max_examples=20, deadline=None)
@given(layouts)
def test_a_job_that_runs_through_has_no_hang(layout):
    snapshot = Training(*layout).snapshot()
    assert judge(snapshot, QUIET_SINCE).kind is HangKind.NONE


def test_a_rank_that_never_appeared_is_waited_for():
    snapshot = Training(4, 1, 1).snapshot(victim=2, at=0)
    ranks = {rank: state for rank, state in snapshot.ranks.items() if rank != 2}
    verdict = judge(Snapshot(snapshot.groups, ranks), QUIET_SINCE)
    assert verdict.culprits == (2,)
    assert verdict.evidence["of these, never appeared"] == 1


def test_a_rank_that_still_makes_progress_is_not_blamed():
    snapshot = changed(Training(4, 1, 1).snapshot(victim=1, at=1), 1, active=QUIET_SINCE + 1)
    verdict = judge(snapshot, QUIET_SINCE)
    assert (verdict.kind, verdict.culprits) == (HangKind.NONE, ())


def everybody_inside(ranks=4, **changes):
    pending = (Pending(0, "all_reduce", 6, STUCK_AT),)
    state = RankState(entered={0: 7}, pending=pending, blocked=True, active=STUCK_AT)
    snapshot = Snapshot({0: tuple(range(ranks))}, dict.fromkeys(range(ranks), state))
    return changed(snapshot, 1, **changes) if changes else snapshot


def test_everybody_inside_is_a_communication_hang_without_culprit():
    verdict = judge(everybody_inside(), QUIET_SINCE)
    assert (verdict.kind, verdict.culprits) == (HangKind.COMMUNICATION, ())
    assert verdict.missing


def test_the_only_one_without_a_sign_of_life_is_named():
    assert judge(everybody_inside(alive=False), QUIET_SINCE).culprits == (1,)
    # Its own part of the operation may have completed.
    assert judge(everybody_inside(alive=False, pending=(), blocked=False), QUIET_SINCE).culprits == (1,)


def test_a_broken_link_does_not_accuse_its_ends():
    """Two ranks cannot finish what all entered; the others went on to the next operation."""
    waits = RankState({0: 8}, pending=(Pending(0, "all_reduce", 7, STUCK_AT),), blocked=True)
    stuck = RankState({0: 7}, pending=(Pending(0, "all_reduce", 6, STUCK_AT),), blocked=True)
    verdict = judge(
        Snapshot({0: tuple(range(8))}, {**dict.fromkeys(range(8), waits), 3: stuck, 4: stuck}), QUIET_SINCE
    )
    assert (verdict.kind, verdict.culprits) == (HangKind.COMMUNICATION, ())


def test_a_circle_is_a_deadlock_without_culprit():
    one = RankState({1: 1}, pending=(Pending(1, "all_reduce", 0, STUCK_AT),), blocked=True)
    other = RankState({2: 1}, pending=(Pending(2, "all_reduce", 0, STUCK_AT),), blocked=True)
    third = RankState({1: 1}, pending=(Pending(1, "all_reduce", 0, STUCK_AT),), blocked=True)
    verdict = judge(Snapshot({1: (0, 1, 2), 2: (0, 1)}, {0: one, 1: other, 2: third}), QUIET_SINCE)
    assert (verdict.kind, verdict.culprits) == (HangKind.DEADLOCK, ())
    assert set(verdict.cycle) == {0, 1}


def test_receives_that_face_each_other_are_a_deadlock():
    first = RankState(pending=(Pending(0, "recv", 0, STUCK_AT, peer=1),), received={(0, 1): 1}, blocked=True)
    second = RankState(pending=(Pending(0, "recv", 0, STUCK_AT, peer=0),), received={(0, 0): 1}, blocked=True)
    assert judge(Snapshot({0: (0, 1)}, {0: first, 1: second}), QUIET_SINCE).kind is HangKind.DEADLOCK


def test_a_receive_from_anybody_blames_nobody():
    state = RankState(
        pending=(Pending(0, "recv_any_source", 0, STUCK_AT, peer=RECEIVES_FROM_ANYBODY),), blocked=True
    )
    verdict = judge(Snapshot({0: (0, 1)}, {0: state, 1: RankState()}), QUIET_SINCE)
    assert verdict.culprits == ()


def test_what_is_pending_but_not_awaited_does_not_hold_a_rank():
    """Rank 1 left an operation running and loops in its own code: it is the one, not a circle."""
    held = RankState(
        {1: 0, 2: 1}, pending=(Pending(2, "all_reduce", 0, STUCK_AT, awaited=True),), blocked=True
    )
    loops = RankState({1: 1, 2: 0}, pending=(Pending(1, "all_reduce", 0, STUCK_AT),), blocked=False)
    assert judge(Snapshot({1: (0, 1), 2: (0, 1)}, {0: held, 1: loops}), QUIET_SINCE).culprits == (1,)


def test_of_several_pending_only_the_awaited_one_counts():
    pending = (Pending(1, "all_reduce", 0, STUCK_AT), Pending(2, "all_reduce", 0, STUCK_AT, awaited=True))
    held = RankState({1: 1, 2: 1}, pending=pending, blocked=True)
    inside = RankState({2: 1}, pending=(Pending(2, "all_reduce", 0, STUCK_AT),), blocked=True)
    snapshot = Snapshot({1: (0, 1), 2: (0, 2)}, {0: held, 1: RankState({1: 0}), 2: inside})
    assert judge(snapshot, QUIET_SINCE).kind is HangKind.COMMUNICATION


def half_outside():
    waits = RankState({0: 1}, pending=(Pending(0, "barrier", 0, STUCK_AT),), blocked=True)
    return Snapshot({0: (0, 1, 2, 3)}, {0: waits, 1: waits, 2: RankState(), 3: RankState()})


def test_half_of_the_job_is_too_many_to_blame():
    verdict = judge(half_outside(), QUIET_SINCE)
    assert (verdict.kind, verdict.culprits) == (HangKind.NON_COMMUNICATION, ())
    assert verdict.missing


def test_unless_they_are_a_node():
    assert judge(half_outside(), QUIET_SINCE, {0: "a", 1: "a", 2: "b", 3: "b"}).culprits == (2, 3)
    assert judge(half_outside(), QUIET_SINCE, dict.fromkeys(range(4), "a")).culprits == ()


def test_one_of_two_ranks():
    assert judge(Training(2, 1, 1).snapshot(victim=0, at=2), QUIET_SINCE).culprits == (0,)


def test_stalled_needs_age_and_silence():
    assert stalled([1.0, 9.0], 0.5, now=10.0, limit=5.0)
    assert not stalled([6.0], 0.5, now=10.0, limit=5.0)
    assert not stalled([1.0], 8.0, now=10.0, limit=5.0)
    assert not stalled([], 0.0, now=1e9, limit=5.0)


def test_patience_follows_the_job():
    assert patience([]) == 5.0
    assert patience([0.1] * 100) == 5.0
    assert patience([4.0] * 100) == 20.0
