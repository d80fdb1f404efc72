"""Under a plan of uneven micro-batches the job is judged as if there were none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evenpace.tap.inject.evenpace_tap import layout
from evenpace.watch.events import Event, FindingClosed, FindingRaised, PeriodFound

from .simulated import MS, SimulatedJob

SHARE = layout.KINDS.index("share")
EVEN = (8, 8, 8, 8)
EASED = (9, 9, 5, 9)
EACH = 10.0  # milliseconds of a micro-batch


def train(job: SimulatedJob, count: int, counts: tuple[int, ...], slow: Mapping[int, float]) -> list[Event]:
    """Let the ranks do their micro-batches, some `slow` by a factor, and say so."""
    each = [EACH * slow.get(rank, 1.0) for rank in range(job.world)]
    events: list[Event] = []
    for number in range(count):
        for rank, ring in enumerate(job.rings):
            at = job.now + MS
            ring.append(
                (at, at, at, 0, int(each[rank] * MS), counts[rank], 0, 0, -1, SHARE, 0, 0, 1),
            )
        events += job.iterate(
            1, lambda rank, _, number=number: counts[rank] * each[rank] + (rank + number) % 3
        )
    return events


def named(events: list[Event]) -> list[object]:
    return [event.finding.subject.rank for event in events if isinstance(event, FindingRaised)]


def closed(events: list[Event]) -> list[FindingClosed]:
    return [event for event in events if isinstance(event, FindingClosed)]


def test_the_finding_stays_while_the_rank_is_slow_and_ends_with_it(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    assert named(train(job, 60, EVEN, {})) == []
    assert named(train(job, 10, EVEN, {2: 1.6})) == [2]
    eased = train(job, 40, EASED, {2: 1.6})
    assert (named(eased), closed(eased)) == ([], [])
    assert len(closed(train(job, 20, EASED, {}))) == 1


def test_another_rank_is_named_at_once_under_the_plan(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    train(job, 60, EVEN, {})
    train(job, 10, EVEN, {2: 1.6})
    train(job, 20, EASED, {2: 1.6})
    train(job, 20, EASED, {})
    assert named(train(job, 10, EASED, {1: 1.3})) == [1]


def test_going_back_to_even_counts_is_no_change_of_pace(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    train(job, 60, EVEN, {})
    train(job, 10, EVEN, {2: 1.6})
    train(job, 20, EASED, {2: 1.6})
    train(job, 20, EASED, {})
    after = train(job, 60, EVEN, {})
    assert (named(after), closed(after)) == ([], [])


def test_who_is_well_again_is_no_longer_named_though_the_job_is_a_little_slower(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    train(job, 60, EVEN, {})
    assert named(train(job, 20, EVEN, {2: 1.6})) == [2]
    everybody = dict.fromkeys(range(4), 1.09)
    assert len(closed(train(job, 20, EVEN, everybody))) == 1
    assert named(train(job, 10, EVEN, everybody | {0: 1.7})) == [0]


def test_another_rank_that_takes_its_place_at_the_same_pace_is_named(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    train(job, 60, EVEN, {})
    assert named(train(job, 15, EVEN, {2: 1.6})) == [2]
    assert named(train(job, 15, EVEN, {1: 1.6})) == [1]


def test_other_operations_of_the_same_micro_batches_are_the_same_work(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    train(job, 60, EVEN, {})
    assert named(train(job, 10, EVEN, {2: 1.6})) == [2]
    job.sizes.append(1000)
    eased = train(job, 40, EASED, {2: 1.6})
    assert [event for event in eased if isinstance(event, PeriodFound)]
    assert (named(eased), closed(eased)) == ([], [])
    assert [one.reason for one in closed(train(job, 20, EASED, {}))] == ["relief"]
    assert named(train(job, 10, EASED, {1: 1.3})) == [1]


def test_iterations_in_which_micro_batches_change_are_of_no_kind(tmp_path: Path) -> None:
    """As of a pipeline: its operations are as many as its micro-batches, so that parts of two steps meet."""
    job = SimulatedJob(tmp_path)
    train(job, 60, EVEN, {})
    assert named(train(job, 10, EVEN, {2: 1.6})) == [2]
    job.sizes.append(1000)
    changing = train(job, 3, (9, 9, 13, 9), {2: 1.6}) + train(job, 3, (18, 9, 10, 18), {2: 1.6})
    assert [event for event in changing if isinstance(event, PeriodFound)]
    eased = train(job, 40, EASED, {2: 1.6})
    assert (named(changing + eased), closed(changing + eased)) == ([], [])
    assert [one.reason for one in closed(train(job, 20, EASED, {}))] == ["relief"]


def test_a_job_whose_iterations_always_differ_is_watched_on(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    train(job, 60, EVEN, {})
    job.sizes.append(1000)
    for more in range(80):
        train(job, 1, (8, 8, 8, 8 + more % 2), {})
    assert named([event for more in range(10) for event in train(job, 1, (8, 8, 8, 8 + more % 2), {2: 1.6})])


def test_other_work_ends_what_was_told(tmp_path: Path) -> None:
    job = SimulatedJob(tmp_path)
    train(job, 60, EVEN, {})
    assert named(train(job, 10, EVEN, {2: 1.6})) == [2]
    job.sizes.append(1000)
    twice = tuple(2 * count for count in EVEN)
    assert [one.reason for one in closed(train(job, 40, twice, {2: 1.6}))] == ["ended"]
