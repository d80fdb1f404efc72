from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from tests.simulate.made import Job, trace, write

from evenpace.detect.attribution import SlowKind
from evenpace.errors import Problem
from evenpace.findings import Finding, Severity, Subject
from evenpace.simulate.replay import replay
from evenpace.simulate.whatif.analysis import Cause
from evenpace.watch import events as ev

RANKS = [0, 1, 2, 3]


def iterations(
    count: int, busy: Callable[[int, int], float], incarnation: int = 0, transfer: float = 0.02
) -> Iterable[ev.Iteration]:
    """Yield iterations of data parallelism in which all wait for the slowest."""
    for number in range(count):
        own = [busy(rank, number) for rank in RANKS]
        yield ev.Iteration(
            time=ev.stamp(1000 + number),
            incarnation=incarnation,
            iteration=number,
            ranks=RANKS,
            durations=[max(own) + transfer] * len(RANKS),
            busy=own,
            waiting=[max(own) - one for one in own],
        )


def log_of(folder: Path, events: Iterable[ev.Event]) -> Path:
    folder.mkdir(exist_ok=True)
    joined = [
        ev.WorkerJoined(
            time=ev.stamp(999),
            incarnation=0,
            rank=r,
            local_rank=0,
            world_size=4,
            node=f"n{r}",
            pid=1,
            tap="native",
        )
        for r in RANKS
    ]
    (folder / "events.jsonl").write_bytes(b"".join(ev.encode(one) + b"\n" for one in [*joined, *events]))
    return folder


def steady(rank: int, number: int) -> float:
    return 0.1 * random.Random(f"{rank} {number}").gauss(1, 0.01)


def slowed(rank: int, number: int) -> float:
    return steady(rank, number) * (1.8 if rank == 2 and 60 <= number < 100 else 1)


def test_a_trace_of_a_slow_worker_is_answered_in_full(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", trace(Job(work=lambda d, s, t, m: 2.0 if (d, s) == (1, 0) else 1.0)))
    seen: list[str] = []
    found = replay(path, lambda what, count: seen.append(what))
    assert "scenarios" in seen
    assert [finding.subject.rank for finding in found.findings] == [2]
    assert found.findings[0].fault == "non-communication-slow"
    assert [(spell.ranks, spell.from_start) for spell in found.spells] == [((2,), True)]
    plan = next(plan for plan in found.plans if plan.strategy == "micro-batches")
    assert sum(plan.counts) == 16
    assert plan.counts[1] == min(plan.counts) < 4
    assert plan.after is not None
    assert plan.step < found.sections[0].whatif.actual


def test_a_slowness_within_a_trace_is_looked_at_by_itself(tmp_path: Path) -> None:
    job = Job(8, steps=60, work=lambda d, s, t, m: 2.0 if (d, s) == (1, 0) and 30 < t < 50 else 1.0)
    found = replay(write(tmp_path / "t.csv", trace(job)))
    whole, slow = found.sections
    assert whole.whatif.blames[0].cause is Cause.NOBODY
    assert (slow.first, slow.last) == (313, 493)
    assert [part.rank for part in slow.whatif.blames[0].parts] == [2]
    assert [finding.subject.rank for finding in found.findings] == [2]


def test_an_even_trace_has_no_finding(tmp_path: Path) -> None:
    found = replay(write(tmp_path / "t.csv", trace(Job())))
    assert found.findings == ()
    assert found.spells == ()
    assert found.plans == ()


def test_a_run_is_detected_anew(tmp_path: Path) -> None:
    found = replay(log_of(tmp_path, iterations(140, slowed)))
    (spell,) = found.spells
    assert (spell.ranks, spell.link, spell.kind) == ((2,), None, SlowKind.NON_COMMUNICATION)
    assert abs(spell.onset - 60) <= 2
    assert spell.relief is not None
    assert abs(spell.relief - 100) <= 2
    assert spell.lost == pytest.approx(40 * 0.08, rel=0.1)
    assert found.findings[0].subject == Subject(kind="rank", rank=2, node="n2")
    (section,) = found.sections
    assert abs(section.first - 60) <= 2
    assert [part.rank for part in section.whatif.blames[0].parts] == [2]


def test_the_log_may_be_given_itself(tmp_path: Path) -> None:
    folder = log_of(tmp_path, iterations(140, slowed))
    assert replay(folder / "events.jsonl").spells == replay(folder).spells


def test_a_healthy_run_accuses_nobody(tmp_path: Path) -> None:
    found = replay(log_of(tmp_path, iterations(200, steady)))
    assert found.spells == ()
    assert found.findings == ()
    assert found.sections[0].whatif.blames[0].cause is Cause.NONE


def test_another_start_is_judged_anew(tmp_path: Path) -> None:
    first = iterations(50, steady)
    second = iterations(50, lambda rank, number: 3 * steady(rank, number), incarnation=1)
    found = replay(log_of(tmp_path, [*first, *second]))
    assert found.spells == ()  # slower all along is another job, not a slowness
    assert [section.incarnation for section in found.sections] == [0, 1]


def test_ranks_of_a_pipeline_are_not_compared(tmp_path: Path) -> None:
    periods = [
        ev.PeriodFound(
            time=ev.stamp(999), incarnation=0, rank=rank, operations=4, kinds={"send": 2, "recv": 2}
        )
        for rank in RANKS
    ]
    unequal = iterations(60, lambda rank, number: steady(rank, number) * (2 if rank == 3 else 1))
    found = replay(log_of(tmp_path, [*periods, *unequal]))
    assert found.spells == ()
    assert (found.sections, found.unfaithful) == ((), 1)


def test_a_restart_is_weighed_where_the_log_tells_its_price(tmp_path: Path) -> None:
    def planned(cost: float) -> int | None:
        decision = ev.Decision(
            time=ev.stamp(1200),
            incarnation=0,
            policy="observe",
            action="none",
            reason="",
            costs={"restart": cost},
        )
        (plan,) = replay(log_of(tmp_path, [*iterations(140, slowed), decision])).plans
        assert (plan.strategy, plan.cost) == ("restart", cost)
        return plan.after

    assert planned(0.8) in range(9, 13)
    assert planned(60.0) is None


def test_what_was_said_in_the_run_is_kept(tmp_path: Path) -> None:
    said = Finding("non-communication-slow", Severity.WARNING, 0.9, Subject("rank", rank=2), "slow")
    raised = ev.FindingRaised(time=ev.stamp(1100), incarnation=0, id=7, finding=said, iteration=61)
    found = replay(log_of(tmp_path, [*iterations(140, slowed), raised]))
    assert found.recording is not None
    assert found.recording.raised[7].iteration == 61


def test_damage_is_counted(tmp_path: Path) -> None:
    odd = ev.Iteration(
        time=ev.stamp(1), incarnation=0, iteration=1, ranks=[0, 1], durations=[1.0], busy=[1.0], waiting=[0.0]
    )
    folder = log_of(tmp_path, [*iterations(20, steady), odd])
    with (folder / "events.jsonl").open("ab") as file:
        file.write(b"{broken\n")
    found = replay(folder)
    assert found.recording is not None
    assert found.recording.damaged == 2
    assert found.steps == 20


@pytest.mark.parametrize("ranks", [[10**30, 1], [-1, 1], [1, 1]])
def test_ranks_that_cannot_be_are_damage(tmp_path: Path, ranks: list[int]) -> None:
    odd = ev.Iteration(
        time=ev.stamp(1), incarnation=0, iteration=1, ranks=ranks, durations=[1.0] * 2, busy=[1.0] * 2,
        waiting=[0.0] * 2,
    )  # fmt: skip
    found = replay(log_of(tmp_path, [*iterations(20, steady), odd]))
    assert found.recording is not None
    assert found.recording.damaged == 1


@pytest.mark.parametrize("name", ["nothing", "trace.txt"])
def test_what_is_no_trace_and_no_run_is_a_problem(tmp_path: Path, name: str) -> None:
    (tmp_path / "trace.txt").write_text("x")
    with pytest.raises(Problem, match="trace"):
        replay(tmp_path / name)


def test_a_folder_without_a_log_and_a_log_without_iterations_are_problems(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="is not a run: it has no"):
        replay(tmp_path)
    with pytest.raises(Problem, match="holds no iteration"):
        replay(log_of(tmp_path, []))
