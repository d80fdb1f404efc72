from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.detect.attribution import SlowKind
from evenpace.detect.sample import Sample
from evenpace.detect.slow import SlowDetector
from evenpace.detect.slow_events import Onset, Relief, Update

START, END = 30, 60


@dataclass
class Job:
    """A synchronous job as arithmetic: ranks work (about 1 s), wait for the slowest, transfer together."""

    ranks: int = 4
    noise: float = 0.02  # of each rank's work
    pace: float = 0.01  # noise that all share
    spikes: float = 0.0  # share of iterations with something long in between
    seed: int = 0

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)
        self.work = 1 + 0.1 * self.rng.uniform(-1, 1, self.ranks)

    def sample(self, iteration, slow=None, network=1.0, stopped=0.0):
        """`slow` multiplies ranks' work, `network` the transfer; `stopped` is added to everybody's."""
        factors = np.array([(slow or {}).get(rank, 1.0) for rank in range(self.ranks)])
        long = self.rng.uniform(1.5, 5) if self.rng.random() < self.spikes else 1.0
        pace = long * np.exp(self.rng.normal(0, self.pace))
        busy = self.work * factors * pace * np.exp(self.rng.normal(0, self.noise, self.ranks))
        waiting = busy.max() - busy
        moved = 0.3 * network * pace * np.exp(self.rng.normal(0, self.noise)) + stopped
        transfer = np.full(self.ranks, moved)
        return Sample(iteration, busy + waiting + transfer, busy, waiting, transfer)


def detector(ranks=4, ranks_a_node=1):
    return SlowDetector(
        range(ranks), ["worker"] * ranks, {r: f"node{r // ranks_a_node}" for r in range(ranks)}
    )


def run(job, watch=None, iterations=90, **fault):
    """Feed a job that has `fault` from START to END; return the events."""
    watch = watch or detector(job.ranks)
    events = []
    for iteration in range(iterations):
        events += watch.feed(job.sample(iteration, **(fault if START <= iteration < END else {})))
    return events


def accused(events):
    return {rank for event in events if not isinstance(event, Relief) for rank in event.verdict.culprits}


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 12), st.data(), st.floats(1.5, 5), st.integers(0, 10_000))
def test_onset_culprit_and_relief(ranks, data, factor, seed):
    victim = data.draw(st.integers(0, ranks - 1))
    onset, *updates, relief = run(Job(ranks, seed=seed), slow={victim: factor})
    assert isinstance(onset, Onset)
    assert not onset.from_start
    assert abs(onset.iteration - START) <= 1
    assert onset.decided < START + 5
    assert accused([onset, *updates]) == {victim}
    assert isinstance(relief, Relief)
    assert abs(relief.iteration - END) <= 1


@pytest.mark.parametrize(
    ("noise", "pace", "spikes"), [(0.01, 0.01, 0), (0.02, 0.02, 0.01), (0.05, 0.02, 0.01), (0.1, 0.05, 0.01)]
)
def test_healthy_jobs_name_nobody(noise, pace, spikes):
    for seed in range(5):
        events = run(Job(8, noise, pace, spikes, seed), iterations=150)
        assert all(
            event.verdict.kind is SlowKind.UNCLEAR for event in events if not isinstance(event, Relief)
        )


def test_no_innocent_in_noise():
    for seed in range(20):
        job = Job(8, noise=0.1, pace=0.05, spikes=0.02, seed=seed)
        assert accused(run(job, slow={seed % 8: 1.6})) <= {seed % 8}


@pytest.mark.parametrize("seed", [19, 21, 60])
def test_chance_in_much_noise_names_nobody(seed):
    """Seeds in which an innocent was once named: by chance, and by its normal imbalance plus chance."""
    assert accused(run(Job(4, 0.1, 0.05, 0.01, seed), iterations=120)) == set()


def test_a_stopped_process_slows_everybodys_transfer():
    assert accused(run(Job(4), slow={2: 1.4}, stopped=0.3)) == {2}


def test_a_node_of_two_ranks():
    assert accused(run(Job(4), detector(4, 2), slow={2: 1.6, 3: 1.6})) == {2, 3}


def test_all_slow_at_once_names_nobody_but_says_so():
    events = run(Job(4), slow=dict.fromkeys(range(4), 1.5), network=1.5)
    assert accused(events) == set()
    assert [type(event) for event in events] == [Onset, Update, Relief]
    assert events[0].verdict.kind is SlowKind.UNCLEAR
    assert events[1].verdict.kind is SlowKind.THROUGHPUT


def test_a_slow_network_names_nobody():
    events = run(Job(4), network=4.0)
    assert accused(events) == set()
    assert events[0].verdict.kind is SlowKind.COMMUNICATION


def test_slow_from_the_start_and_its_relief():
    job, watch = Job(4), detector()
    events = [event for i in range(70) for event in watch.feed(job.sample(i, {1: 1.8} if i < 40 else {}))]
    assert [type(event) for event in events] == [Onset, Relief]
    assert (events[0].from_start, events[1].from_start) == (True, True)
    assert events[0].verdict.culprits == (1,)
    assert 40 <= events[1].decided < 60


def test_normal_imbalance_between_roles():
    job = Job(4)
    job.work = np.array([1.0, 1.0, 1.7, 1.7])
    watch = SlowDetector(range(4), ["first", "first", "last", "last"], {r: "abcd"[r] for r in range(4)})
    assert run(job, watch) == []


def test_irregular_iterations_are_ignored():
    job, watch = Job(4), detector()
    for iteration in range(60):
        sample = job.sample(iteration, dict.fromkeys(range(4), 5.0) if iteration % 3 == 0 else {})
        assert watch.feed(replace(sample, irregular=iteration % 3 == 0)) == []


def test_ranks_need_not_count_from_zero():
    watch = SlowDetector([8, 9, 14, 15], ["worker"] * 4, {8: "a", 9: "b", 14: "c", 15: "d"})
    assert accused(run(Job(4), watch, slow={2: 1.6})) == {14}


def test_changed_work_is_learned_anew():
    job, watch = Job(4), detector()
    for iteration in range(30):
        watch.feed(job.sample(iteration))
    watch.work_changed()
    job.work *= 2
    assert [event for i in range(30, 80) for event in watch.feed(job.sample(i))] == []


def test_back_at_earlier_work_its_pace_is_known_and_slowness_is_found_at_once():
    job, watch = Job(), detector()
    for iteration in range(40):
        assert watch.feed(job.sample(iteration)) == []
    watch.take_up()
    first, *_ = (event for i in range(40, 46) for event in watch.feed(job.sample(i, slow={1: 2.0})))
    assert isinstance(first, Onset)
    assert first.verdict.culprits == (1,)
    assert first.decided <= 44


def test_slowness_that_outlasts_other_work_is_told_again():
    job, watch = Job(), detector()
    for iteration in range(40):
        watch.feed(job.sample(iteration))
    told = [event for i in range(40, 50) for event in watch.feed(job.sample(i, slow={1: 2.0}))]
    watch.take_up()
    again = [event for i in range(50, 60) for event in watch.feed(job.sample(i, slow={1: 2.0}))]
    assert [type(events[0]) for events in (told, again)] == [Onset, Onset]
    well = [event for i in range(60, 75) for event in watch.feed(job.sample(i))]
    assert [type(event) for event in well] == [Relief]


def pipelined(rng, iteration, data, stages, slow):
    """Replicas of a pipeline: 4 micro-batches forward, then backward, then all replicas meet."""
    work = np.exp(rng.normal(0, 0.03, (data * stages, 8))) * np.array([1.0] * 4 + [2.0] * 4)
    work *= np.tile([1.2] + [1.0] * (stages - 1), data)[:, None]  # the first stage does more
    for rank, factor in slow.items():
        work[rank] *= factor
    ends = np.zeros(data * stages)
    for replica in range(data):
        ranks = range(replica * stages, (replica + 1) * stages)
        for step in range(8):
            arrived = 0.0
            for rank in ranks if step < 4 else reversed(ranks):
                ends[rank] = arrived = max(ends[rank], arrived) + work[rank, step]
    busy = work.sum(axis=1)
    transfer = np.full(data * stages, 0.5)
    durations = np.full(data * stages, ends.max() + 0.5)
    return Sample(iteration, durations, busy, durations - busy - transfer, transfer)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([(1, 2), (1, 4), (2, 2), (4, 4), (8, 2)]),
    st.data(),
    st.floats(1.7, 4),
    st.integers(0, 10_000),
)
def test_a_slow_rank_in_a_pipeline(layout, data, factor, seed):
    replicas, stages = layout
    ranks = range(replicas * stages)
    victim = data.draw(st.sampled_from(list(ranks)))
    rng = np.random.default_rng(seed)
    watch = SlowDetector(
        ranks, [f"stage{rank % stages}" for rank in ranks], {rank: f"n{rank}" for rank in ranks}
    )
    events = []
    for iteration in range(90):
        slow = {victim: factor} if START <= iteration < END else {}
        events += watch.feed(pipelined(rng, iteration, replicas, stages, slow))
    assert accused(events) == {victim}
    assert isinstance(events[-1], Relief)


def test_a_second_cause_on_top_is_told():
    job, watch, events = Job(4), detector(), []
    for iteration in range(120):
        slow = {1: 1.4} if 60 <= iteration < 80 else {1: 1.4, 2: 2.2} if iteration >= 80 else {}
        events += watch.feed(job.sample(iteration, slow))
    onset, *updates = events
    assert isinstance(onset, Onset)
    assert onset.verdict.culprits == (1,)
    assert all(isinstance(event, Update) for event in updates)
    assert updates[0].since == 80
    assert updates[0].iteration == onset.iteration
    assert updates[-1].ratio > 1.3 * onset.ratio
    assert 2 in updates[-1].verdict.culprits


def test_a_partial_relief_is_told_and_then_the_whole():
    job, watch, events = Job(4), detector(), []
    for iteration in range(140):
        factor = 2.0 if 60 <= iteration < 80 else 1.4 if 80 <= iteration < 100 else 1.0
        events += watch.feed(job.sample(iteration, {3: factor}))
    assert [type(event) for event in events] == [Onset, Update, Relief]
    onset, update, relief = events
    assert (onset.iteration, update.since, relief.iteration) == (60, 80, 100)
    assert 1.15 < update.ratio < 1.45 < onset.ratio
    assert accused(events) == {3}


def test_two_steps_in_a_row_are_one_slowness():
    job, watch, events = Job(4), detector(), []
    for iteration in range(260):
        factor = 1 + 0.15 * sum(iteration >= start for start in (160, 190, 220))
        events += watch.feed(job.sample(iteration, {0: factor}))
    assert isinstance(events[0], Onset)
    assert all(isinstance(event, Update) for event in events[1:])
    assert events[-1].ratio == pytest.approx(1 + 0.45 / 1.3, abs=0.1)
    assert accused(events) == {0}


def packed(job, iteration, rng, slow=None):
    """An iteration whose ranks work for their tokens and squared lengths."""
    tokens = rng.uniform(0.9, 1.0, job.ranks)
    squares = rng.lognormal(0, 0.5, job.ranks)
    work = 0.2 + 0.4 * tokens + 0.4 * squares
    work = work * np.exp(rng.normal(0, 0.01, job.ranks))
    busy = work * np.array([(slow or {}).get(rank, 1.0) for rank in range(job.ranks)])
    waiting = busy.max() - busy
    transfer = np.full(job.ranks, 0.1)
    return Sample(
        iteration, busy + waiting + transfer, busy, waiting, transfer, tokens=tokens, squares=squares
    )


def test_varied_work_is_not_slowness():
    for seed in range(5):
        job, watch, rng = Job(4), detector(), np.random.default_rng(seed)
        assert [event for i in range(200) for event in watch.feed(packed(job, i, rng))] == []


def test_a_slowdown_shows_under_varied_work():
    for seed in range(5):
        job, watch, rng, events = Job(4), detector(), np.random.default_rng(seed), []
        for iteration in range(200):
            slow = dict.fromkeys(range(4), 1.3) if iteration >= 150 else {}
            events += watch.feed(packed(job, iteration, rng, slow))
        assert isinstance(events[0], Onset)
        assert 150 <= events[0].decided <= 160


def test_without_its_work_an_iteration_says_nothing_once_work_explains_others():
    job, watch, rng = Job(4), detector(), np.random.default_rng(0)
    for iteration in range(100):
        watch.feed(packed(job, iteration, rng))
    bare = [replace(job.sample(i, network=9), tokens=None, squares=None) for i in range(100, 119)]
    assert [event for sample in bare for event in watch.feed(sample)] == []
    assert [event for i in range(119, 170) for event in watch.feed(job.sample(i))] == []  # learned anew
    assert any(isinstance(e, Onset) for i in range(170, 180) for e in watch.feed(job.sample(i, {1: 2.0})))


def test_a_few_ranks_with_odd_durations_are_no_slow_job():
    job, watch, events = Job(5), detector(5), []
    for iteration in range(80):
        sample = job.sample(iteration)
        if iteration >= 40:
            sample = replace(sample, durations=sample.durations * np.array([2.0, 2.0, 1.0, 1.0, 1.0]))
        events += watch.feed(sample)
    assert events == []


def test_work_moved_away_from_the_slow_rank_accuses_nobody_else():
    """As after uneven micro-batches: the slow rank has less to do, all others more."""
    job, watch, events = Job(4), detector(), []
    for iteration in range(100):
        moved = {0: 1.3, 1: 1.05, 2: 1.3, 3: 1.3}
        events += watch.feed(
            job.sample(iteration, {1: 1.8} if 40 <= iteration < 60 else moved if iteration >= 60 else {})
        )
    assert accused(events) == {1}
    assert isinstance(events[-1], Update)


@pytest.mark.parametrize("missing", [0.3, 1.0])
def test_without_its_shares_an_iteration_says_nothing_where_others_have_them(missing):
    """Under a plan, of a loop that says so in a part of the iterations; of one that stops to, for a while."""
    job, watch, rng = Job(4), detector(), np.random.default_rng(2)
    events = []
    for iteration in range(75):
        counts = np.array([8.0] * 4 if iteration < 60 else [3.0, 9.0, 10.0, 10.0])
        sample = job.sample(iteration, dict(enumerate(counts / 8)))
        shared = replace(sample, counts=counts, each=sample.busy / counts)
        events += watch.feed(sample if iteration >= 60 and rng.random() < missing else shared)
    assert events == []


def test_a_loop_that_tells_no_shares_any_more_is_judged_without():
    job, watch = Job(4), detector()
    events = []
    for iteration in range(100):
        sample = job.sample(iteration, {1: 1.8} if iteration >= 60 else {})
        even = np.full(4, 8.0)
        events += watch.feed(
            sample if iteration >= 50 else replace(sample, counts=even, each=sample.busy / even)
        )
    assert accused(events) == {1}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seconds", [0.0, 1e-300, 1e300, float("nan"), float("inf"), -1.0])
@pytest.mark.parametrize("ranks", [1, 3])
def test_times_that_cannot_be_accuse_nobody(seconds: float, ranks: int) -> None:
    detector, job = SlowDetector(list(range(ranks)), [""] * ranks, {}), Job(ranks)
    damaged = np.full(ranks, seconds)
    for iteration in range(120):
        sample = job.sample(iteration)
        if iteration >= 50 and iteration % 2:
            whole = replace(sample, durations=damaged, busy=damaged, waiting=damaged, transfer=damaged)
            parts = replace(sample, busy=damaged, waiting=damaged)
            sample = whole if iteration % 4 == 1 or 0 <= seconds < 1 else parts
        assert detector.feed(sample) == []
