"""Own time, waiting and transfer: by hand, and on simulated jobs with one delayed worker."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.symbols import mix
from evenpace.detect.waiting import OperationTimes, Split, last_enters, split

COLUMNS = (
    "worker",
    "group",
    "enter_ns",
    "complete_ns",
    "wait_enter_ns",
    "wait_ns",
    "next_enter_ns",
    "last_enter_ns",
)


def times(*rows: tuple[int, ...]) -> OperationTimes:
    return OperationTimes(*np.array(rows, np.int64).reshape(-1, len(COLUMNS)).T)


def one(*rows: tuple[int, ...]) -> Split:
    """Split one worker's iteration from 100 to 200 with operations (group, enter, complete, waits, ...)."""
    return split(times(*((0, *row) for row in rows)), np.array([100]), np.array([200]))


def parts(result: Split) -> tuple[int, int, int]:
    return int(result.busy_ns[0]), int(result.waiting_ns[0]), int(result.transfer_ns[0])


def test_blocked_in_wait() -> None:
    assert parts(one((7, 110, 190, 120, 60, 0, 150))) == (40, 30, 30)


def test_blocked_where_no_wait_was_seen() -> None:
    assert parts(one((7, 110, 160, 0, 0, 195, 140))) == (50, 30, 20)


def test_not_blocked_while_the_next_was_issued() -> None:
    assert parts(one((7, 110, 160, 0, 0, 130, 140), (7, 130, 180, 0, 0, 0, 150))) == (50, 20, 30)


def test_blocked_on_the_last_bucket_although_the_loss_comes_soon_after() -> None:
    bucket, last, loss = (
        (7, 110, 112, 0, 0, 150, 111),
        (7, 150, 160, 0, 0, 162, 155),
        (7, 162, 164, 162, 2, 0, 163),
    )
    assert parts(one(bucket, last, loss)) == (100 - 10 - 2 - 2, 5 + 1 + 1, 5 + 1 + 1)


def test_completion_not_known() -> None:
    assert parts(one((7, 110, 0, 0, 0, 195, 140))) == (70, 30, 0)
    assert parts(one((7, 110, 0, 0, 0, 120, 140))) == (100, 0, 0)


def test_last_participant_not_known_yet() -> None:
    result = one((7, 110, 190, 120, 60, 0, 0))
    assert parts(result) == (100, 0, 0)
    assert result.unmatched.tolist() == [1]


def test_cut_to_the_iteration_and_merged() -> None:
    result = one((7, 90, 130, 90, 40, 0, 120), (8, 110, 230, 110, 120, 0, 150))
    assert parts(result) == (0, 50, 50)
    assert {g: w.tolist() for g, w in result.waiting_by_group.items()} == {7: [20], 8: [30]}


def test_no_operations() -> None:
    result = split(times(), np.array([0, 5]), np.array([10, 7]))
    assert result.busy_ns.tolist() == [10, 2]
    assert last_enters(np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []


def test_last_enters_wait_for_all_participants() -> None:
    group = np.array([1, 1, 1, 2, 2, 1])
    sequence = np.array([0, 0, 0, 0, 0, 1])
    enter = np.array([5, 9, 7, 3, 4, 20])
    found = last_enters(mix(group, sequence), enter, np.array([3, 3, 3, 2, 2, 3]))
    assert found.tolist() == [9, 9, 9, 4, 4, 0]


EVENTS = st.lists(
    st.tuples(
        st.integers(0, 2),  # worker
        st.integers(1, 2),  # group
        st.integers(1, 300),  # enter
        st.sampled_from([0, 1]) | st.integers(1, 90),  # until complete
        st.sampled_from([0, 1]) | st.integers(1, 90),  # until wait
        st.integers(0, 90),
        st.integers(0, 300),
        st.integers(0, 300),
    ),
    max_size=20,
)


@given(EVENTS, st.lists(st.tuples(st.integers(1, 100), st.integers(0, 200)), min_size=3, max_size=3))
def test_parts_sum_to_the_duration(rows: list[tuple[int, ...]], spans: list[tuple[int, int]]) -> None:
    operations = times(
        *(
            (w, g, e, e + c if c else 0, e + b if b else 0, n, x, last)
            for w, g, e, c, b, n, x, last in sorted(rows)
        )
    )
    start = np.array([s for s, _ in spans])
    end = start + np.array([d for _, d in spans])
    result = split(operations, start, end)
    for part in (result.busy_ns, result.waiting_ns, result.transfer_ns):
        assert (part >= 0).all()
    assert (result.busy_ns + result.waiting_ns + result.transfer_ns == end - start).all()
    assert sum((w.sum() for w in result.waiting_by_group.values()), 0) == result.waiting_ns.sum()


def simulate_ddp(work: np.ndarray, transfer: int) -> tuple[OperationTimes, np.ndarray, np.ndarray]:
    """Simulate DDP: workers x iterations x buckets of compute before each; the end waits for all buckets.

    Returns one middle iteration's operations, starts and ends. The host's wait at the end is not seen.
    """
    workers, iterations, buckets = work.shape
    now, done = np.zeros(workers, np.int64) + 1000, 0
    enter = np.zeros((workers, iterations * buckets), np.int64)
    complete = np.zeros_like(enter)
    for i in range(iterations):
        for b in range(buckets):
            now += work[:, i, b]
            enter[:, i * buckets + b] = now
            done = max(done, int(now.max())) + transfer
            complete[:, i * buckets + b] = done
        now = np.maximum(now, done)
    following = np.concatenate([enter[:, 1:], enter[:, :1] * 0], axis=1)
    last = np.broadcast_to(enter.max(axis=0), enter.shape)
    worker = np.repeat(np.arange(workers), buckets)
    unseen = np.zeros_like(enter)
    middle = slice(buckets, 2 * buckets)
    columns = [c[:, middle].ravel() for c in (enter, complete, unseen, unseen, following, last)]
    return OperationTimes(worker, worker * 0 + 1, *columns), enter[:, buckets], enter[:, 2 * buckets]


@settings(max_examples=50)
@given(st.integers(2, 6), st.integers(1, 5), st.integers(3_000, 90_000), st.integers(0, 999))
def test_ddp_delayed_worker(workers: int, buckets: int, delay: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    work = rng.integers(9_000, 10_000, (workers, 4, buckets))
    work[:, :, 0] += 25_000  # optimizer and forward
    healthy = split(*simulate_ddp(work, 500))
    slow = work.copy()
    slow[0, :, 0] += delay
    delayed = split(*simulate_ddp(slow, 500))
    jitter = 1_500 * buckets
    assert delayed.busy_ns[0] - healthy.busy_ns[0] == pytest.approx(delay, abs=jitter)
    assert delayed.waiting_ns[0] <= jitter
    assert delayed.busy_ns[1:] == pytest.approx(healthy.busy_ns[1:], abs=jitter)
    assert delayed.waiting_ns[1:] - healthy.waiting_ns[1:] == pytest.approx(
        [delay] * (workers - 1), abs=jitter
    )


def test_ddp_who_enters_last_waits_for_nobody() -> None:
    work = np.full((3, 4, 3), 1000)
    work[2] += 1
    result = split(*simulate_ddp(work, 10))
    assert result.waiting_ns[2] == 0
    assert (result.waiting_ns[:2] > 0).all()


def test_ddp_slow_transfer_is_nobodys_own_time() -> None:
    work = np.full((3, 4, 3), 1000)
    result = split(*simulate_ddp(work, 5000))
    assert result.busy_ns.tolist() == [3000] * 3
    assert result.waiting_ns.tolist() == [0] * 3


def simulate_pipeline(work: list[int], micro: int, iterations: int = 3) -> Split:
    """Simulate forwards, then backwards through blocking send and recv; `work` per stage and micro-batch."""
    stages = len(work)
    now = [1000] * stages
    rows: list[list[list[int]]] = [[] for _ in range(stages)]
    starts: list[list[int]] = [[] for _ in range(stages)]
    for _ in range(iterations):
        for stage in range(stages):
            starts[stage].append(now[stage])
        for order in (list(range(stages)), list(range(stages))[::-1]):
            arrived = [[0] * micro for _ in range(stages)]
            for position, stage in enumerate(order):
                for m in range(micro):
                    if position:
                        sent, enter = arrived[order[position - 1]][m], now[stage]
                        now[stage] = max(enter, sent + 5)
                        rows[stage].append(
                            [1, enter, now[stage], enter, now[stage] - enter, max(sent, enter)]
                        )
                    now[stage] += work[stage]
                    arrived[stage][m] = now[stage]
    flat = [(s, *r[:5], 0, r[5]) for s in range(stages) for r in rows[s]]
    return split(times(*flat), np.array([s[1] for s in starts]), np.array([s[2] for s in starts]))


@pytest.mark.parametrize("slow", [0, 1, 3])
def test_pipeline_delayed_stage(slow: int) -> None:
    healthy = simulate_pipeline([1000] * 4, 8)
    work = [1000] * 4
    work[slow] += 250
    delayed = simulate_pipeline(work, 8)
    others = [s for s in range(4) if s != slow]
    assert delayed.busy_ns[slow] - healthy.busy_ns[slow] == 250 * 16
    assert (delayed.busy_ns[others] == healthy.busy_ns[others]).all()
    assert (delayed.waiting_ns[others] - healthy.waiting_ns[others]).max() >= 250 * 8
    assert delayed.waiting_ns[slow] <= healthy.waiting_ns[slow]


def test_ddp_buckets_inside_the_backward_do_not_block() -> None:
    work = np.full((2, 4, 4), 1000)
    work[:, :, 0] = 3000
    work[1, :, 0] += 400  # late by less than a bucket takes
    result = split(*simulate_ddp(work, 10))
    assert result.waiting_ns.tolist() == [400, 0]
    assert result.busy_ns.tolist() == [6000, 6400]
