"""Who may be the cause of a slowness: proven workers and pairs, candidates of a group, or nobody."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.watch.simulated import GROUP, MS, SimulatedJob
from tests.watch.test_watcher import noisy

from evenpace.collect.job.rings import Group
from evenpace.detect.attribution import SlowKind, SlowVerdict
from evenpace.detect.comparable import Compared, Instances, Traffic, add_up
from evenpace.detect.slow_events import Onset, Relief
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.terms import say
from evenpace.terms.retell import retell
from evenpace.watch.events import Event, FindingClosed, FindingRaised, Iteration, Narrowed
from evenpace.watch.groups import GroupBook
from evenpace.watch.narrowing import TrafficBook, narrow

BOOK = GroupBook()
WORLD = BOOK.number(Group("0", (0, 1, 2, 3)))
LEFT, RIGHT = BOOK.number(Group("data", (4, 6))), BOOK.number(Group("data", (5, 7)))


def group(
    number: int, grown: float = 0.0, suspicious: bool = False, pair: tuple[int, int] = (-1, -1)
) -> Compared:
    return Compared(number, *pair, 0, 0.1 + grown, 0.1, grown, suspicious, 1000, 2, 0.5)


def test_a_named_worker_is_proven() -> None:
    verdict = SlowVerdict(SlowKind.NON_COMMUNICATION, (2,), excess={1: 0.0, 2: 0.3}, lost=0.4)
    said = narrow(verdict, [group(WORLD)], BOOK)
    assert said.answer == ("compute", (2,), (), True)
    assert "rank 2" in said.why
    assert "0.300" in said.why


def test_a_slow_pair_is_proven() -> None:
    verdict = SlowVerdict(SlowKind.COMMUNICATION, link=(1, 2), lost=0.4)
    assert narrow(verdict, [], BOOK).answer == ("link", (1, 2), ((1, 2),), True)


def test_a_worker_and_a_link_at_once() -> None:
    verdict = SlowVerdict(SlowKind.NON_COMMUNICATION, (3,), (0, 1), excess={3: 0.2}, lost=0.4)
    assert narrow(verdict, [], BOOK).answer == ("compute", (3,), ((0, 1),), True)


def test_a_rank_all_of_whose_pairs_are_slow() -> None:
    verdict = SlowVerdict(SlowKind.COMMUNICATION, (2,), lost=0.4)
    pairs = [group(WORLD, 0.3, True, pair) for pair in ((1, 2), (2, 3), (0, 1))]
    assert narrow(verdict, pairs, BOOK).answer == ("link", (2,), ((1, 2), (2, 3)), True)


def test_a_slow_ring_is_a_network_even_where_the_other_ranks_only_wait_for_its_own() -> None:
    unclear = SlowVerdict(SlowKind.UNCLEAR, excess=dict.fromkeys(range(8), 0.0), lost=0.4, transfer=0.01)
    said = narrow(unclear, [group(LEFT, 0.35, True), group(RIGHT, 0.0)], BOOK)
    assert said.answer == ("link", (4, 6), ((4, 6), (6, 4)), False)
    slight = narrow(unclear, [group(LEFT, 0.1, True)], BOOK)
    assert slight.cause == "unclear"
    own = SlowVerdict(SlowKind.UNCLEAR, excess={rank: 0.3 * (rank == 1) for rank in range(8)}, lost=0.4)
    assert narrow(own, [group(LEFT, 0.35, True)], BOOK).cause == "compute"


def test_a_collective_leaves_the_links_of_its_ring_either_way_round() -> None:
    verdict = SlowVerdict(SlowKind.COMMUNICATION, lost=0.4, transfer=0.4)
    said = narrow(verdict, [group(WORLD, 0.4, True)], BOOK)
    assert (said.cause, said.suspects, said.proven) == ("link", (0, 1, 2, 3), False)
    assert set(said.links) == {(a, b) for a in range(4) for b in range(4) if (a - b) % 4 in {1, 3}}


def test_of_comparable_groups_only_the_odd_one_is_suspected() -> None:
    verdict = SlowVerdict(SlowKind.UNCLEAR, lost=0.4, transfer=0.3)
    said = narrow(verdict, [group(LEFT, 0.4, True), group(RIGHT, 0.39)], BOOK)
    assert said.answer == ("link", (4, 6), ((4, 6), (6, 4)), False)


def test_groups_that_grew_alike_are_all_suspected() -> None:
    verdict = SlowVerdict(SlowKind.COMMUNICATION, lost=0.4, transfer=0.3)
    assert narrow(verdict, [group(LEFT, 0.4), group(RIGHT, 0.39), group(WORLD)], BOOK).suspects == (
        4,
        5,
        6,
        7,
    )


@pytest.mark.parametrize(
    ("excess", "suspects"),
    [
        ({0: 0.3, 1: 0.02, 2: 0.0, 3: 0.0}, (0,)),
        (dict.fromkeys(range(4), 0.3), ()),
        (dict.fromkeys(range(4), 0.01), ()),
    ],
)
def test_own_time_that_proves_nothing_is_a_hint(excess: dict[int, float], suspects: tuple[int, ...]) -> None:
    said = narrow(SlowVerdict(SlowKind.UNCLEAR, excess=excess, lost=0.4), [group(WORLD)], BOOK)
    assert said.answer == ("compute" if suspects else "unclear", suspects, (), False)


def test_everybody_is_nobody() -> None:
    said = narrow(SlowVerdict(SlowKind.THROUGHPUT, excess=dict.fromkeys(range(4), 0.3), lost=0.4), [], BOOK)
    assert said.answer == ("unclear", (), (), False)


def test_slow_transfers_without_groups_to_compare_are_unclear() -> None:
    assert narrow(SlowVerdict(SlowKind.COMMUNICATION, lost=0.4, transfer=0.4), [], BOOK).cause == "unclear"


def test_the_event_says_groups_as_people_do_and_why_in_other_languages() -> None:
    verdict = SlowVerdict(SlowKind.COMMUNICATION, lost=0.4, transfer=0.4)
    pair = group(WORLD, 0.1, False, (2, 3))
    event = narrow(verdict, [group(WORLD, 0.4, True), pair], BOOK).event(1, 7, 1.7e9, BOOK)
    assert [(one.group, one.ranks) for one in event.groups] == [("world", [0, 1, 2, 3]), ("world", [2, 3])]
    assert (event.incarnation, event.iteration, event.groups[0].last) == (1, 7, 2)
    assert retell(event.why, "ko") == say("narrowed-groups", "ko", groups="world", seconds=0.5, usual=0.1)


def traffic(seconds: float) -> Traffic:
    one = np.zeros(1, np.int64)
    end = np.array([int(seconds * 1e9)])
    return add_up(Instances(one, one - 1, one - 1, one, end, one, one, one.astype(np.uint64)))


def test_only_healthy_iterations_are_the_past() -> None:
    book = TrafficBook()
    for iteration in range(30):
        book.add(iteration, traffic(0.5 if 10 <= iteration < 20 else 0.1))
    book.began(10)
    book.ended(20)
    for iteration in range(30, 33):
        book.add(iteration, traffic(0.2))
    assert book.compare(30)[0].growth == pytest.approx(0.1)


def narrowed(events: list[Event]) -> list[Narrowed]:
    return [event for event in events if isinstance(event, Narrowed)]


def test_a_slow_worker_is_proven_before_it_is_told(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    job.iterate(40, noisy(2))
    events = job.iterate(8, noisy(3, slow=2, factor=1.6))
    said = [event for event in events if isinstance(event, Narrowed | FindingRaised)]
    assert isinstance(said[0], Narrowed)
    assert isinstance(said[1], FindingRaised)
    assert (said[0].cause, said[0].suspects, said[0].proven) == ("compute", [2], True)
    assert (said[0].groups[0].group, said[0].groups[0].last) == ("world", 2)


def test_two_slow_workers_are_named_together(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    job.iterate(40, noisy(2))
    chance = noisy(4)
    events = job.iterate(8, lambda rank, i: chance(rank, i) * (1.6 if rank in {0, 3} else 1))
    assert narrowed(events)[-1].suspects == [0, 3]


def test_a_slow_network_leaves_the_ring(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    job.iterate(40, noisy(2))
    (said,) = narrowed(job.iterate(10, noisy(3), transfer=80.0))
    assert (said.cause, said.suspects, said.proven, len(said.links)) == ("link", [0, 1, 2, 3], False, 8)
    assert said.groups[0].seconds > 5 * said.groups[0].expected
    assert said.groups[0].bytes == 3003


def test_work_records_do_not_disturb_the_iteration(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    events: list[Event] = []
    for iteration in range(40):
        for ring in job.rings:
            tokens, squares = 100 + iteration, 10_000
            work = layout.KINDS.index("work")
            ring.append((job.now, job.now, job.now, 0, squares, tokens, GROUP, 0, -1, work, 0, 0, 1))
        events += job.iterate(1)
    assert len([event for event in events if isinstance(event, Iteration)]) >= 36
    worker = job.watcher.workers[0]
    assert worker.tracker.period is not None
    assert worker.tracker.period.length == 3
    assert worker.tasks.work(job.now - 93 * MS, job.now) == (139, 10_000)


def test_a_worker_and_a_link_are_two_findings_that_close_together(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    job.iterate(40, noisy(2))
    watcher = job.watcher
    workers = [watcher.workers[rank] for rank in range(4)]
    verdict = SlowVerdict(SlowKind.NON_COMMUNICATION, (3,), (0, 1), excess={3: 0.2}, lost=0.4, confidence=0.8)
    saying = watcher.slow._say(Onset(38, 40, verdict, 2.0), workers, job.now, 0.0)
    assert saying is not None
    narrowing, *raised = watcher._told(saying, 0.0)
    assert isinstance(narrowing, Narrowed)
    assert [(one.id, one.finding.fault) for one in raised if isinstance(one, FindingRaised)] == [
        (0, "non-communication-slow"),
        (1, "communication-slow"),
    ]
    over = watcher.slow._say(Relief(50, 52), workers, job.now, 0.0)
    assert over is not None
    assert [type(event) for event in watcher._told(over, 0.0)] == [FindingClosed, FindingClosed]
