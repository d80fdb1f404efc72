"""A slow job is eased where the policy lets us, at the right time, and everything is taken back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evenpace.findings import Subject
from evenpace.respond.mitigation.announcing import announce
from evenpace.respond.mitigation.applying import ENOUGH
from evenpace.respond.mitigation.mitigation import Mitigation
from evenpace.respond.strategies import Estimate
from evenpace.watch.events import (
    Adapted,
    Decision,
    IncarnationStarted,
    Iteration,
    Narrowed,
    Probed,
    WatchDegraded,
    stamp,
)

from .conftest import HEALTHY, RANKS, TOTAL, Run

Maker = Callable[..., Run]
SLOW = 0.18
EASED = 0.115


def slow_down(run: Run, factor: float = 2.0) -> None:
    """Let rank 2 become slow, and say so."""
    run.offer()
    run.measure({})
    run.iterate(40, HEALTHY)
    run.measure({2: factor})
    onset = run.iteration
    run.iterate(3, SLOW)
    run.raise_finding(onset=onset)


def ease(run: Run) -> None:
    """Let rank 2 become slow, and the plan take effect."""
    slow_down(run)
    run.look()
    run.iterate(3, SLOW)
    run.look()
    plan = run.plan()
    assert plan is not None
    run.obey()
    run.measure({2: 2.0}, plan["counts"])
    run.look()


def test_a_slow_replica_gets_fewer_micro_batches(job: Maker) -> None:
    run = job()
    ease(run)
    assert run.plan() == {"version": 1, "counts": [5, 4, 2, 5]} or sum(run.plan()["counts"]) == 16
    assert run.plan()["counts"][2] == min(run.plan()["counts"])
    assert run.decisions() == [("adapt", "micro-batches")]
    assert run.adapted() == [("micro-batches", "apply", True)]


def test_every_decision_has_its_numbers(job: Maker) -> None:
    run = job()
    ease(run)
    decided = [one for one in run.heard if isinstance(one, Decision)][-1]
    assert decided.lost == pytest.approx(3 * (SLOW - HEALTHY), abs=0.01)
    assert set(decided.costs) == set(decided.rates) == {"none", "micro-batches", "restart"}
    assert decided.costs["none"] == 0 < decided.costs["micro-batches"] < decided.costs["restart"]
    assert decided.rates["restart"] == 0 < decided.rates["micro-batches"] < decided.rates["none"]


def test_it_is_not_taken_back_while_another_trouble_begins(job: Maker) -> None:
    run = job()
    ease(run)
    run.iterate(10, EASED)
    run.close_finding()
    run.measure({}, run.plan()["counts"])
    run.iterate(1, SLOW)
    run.look(20)
    assert run.decisions()[-1] == ("adapt", "micro-batches")
    run.iterate(5, EASED)
    run.look(10)
    assert run.decisions()[-1] == ("revert", "micro-batches")


def test_it_is_taken_back_when_nobody_is_slow_any_more(job: Maker) -> None:
    run = job()
    ease(run)
    run.iterate(10, EASED)
    run.close_finding()
    run.look(10)
    assert run.adapted() == [("micro-batches", "apply", True)], "the job is well because of the plan"
    run.measure({}, run.plan()["counts"])
    run.look(10)
    assert run.plan() == {"version": 2, "counts": [4, 4, 4, 4]}
    run.obey()
    run.look()
    assert run.decisions()[-1] == ("revert", "micro-batches")
    assert run.adapted()[-1] == ("micro-batches", "revert", True)


def test_a_relapse_is_eased_again_and_then_trusted_less(job: Maker) -> None:
    run = job()
    ease(run)
    run.iterate(4, EASED)
    run.measure({}, run.plan()["counts"])
    run.look(8)
    run.obey()
    run.look()
    run.close_finding()
    run.iterate(5, HEALTHY)
    run.measure({2: 2.0})
    onset = run.iteration
    run.iterate(6, SLOW)
    run.raise_finding(onset=onset)
    run.look(2)
    assert run.decisions()[-1] == ("adapt", "micro-batches")
    run.obey()
    run.look()
    run.iterate(4, EASED)
    run.measure({}, run.plan()["counts"])
    run.look(8)
    assert run.decisions()[-1] == ("adapt", "micro-batches"), "four seconds are too short now"
    run.look(6)
    assert run.decisions()[-1] == ("revert", "micro-batches")


def test_what_does_not_help_is_taken_back_and_not_tried_again(job: Maker) -> None:
    run = job()
    ease(run)
    run.iterate(10, SLOW)
    run.look()
    assert run.decisions()[-1] == ("revert", "micro-batches")
    run.obey()
    run.look()
    run.iterate(50, SLOW)
    run.look(3)
    assert run.decisions().count(("adapt", "micro-batches")) == 1


def test_what_does_not_help_is_taken_back_though_the_finding_is_over(job: Maker) -> None:
    run = job()
    ease(run)
    run.close_finding()
    run.iterate(10, SLOW)
    run.look()
    assert run.decisions()[-1] == ("revert", "micro-batches")
    run.obey()
    run.look()
    onset = run.iteration
    run.iterate(20, SLOW)
    run.raise_finding(onset=onset)
    run.look(3)
    assert run.decisions().count(("adapt", "micro-batches")) == 1, "not in the next slowness either"


def test_what_has_helped_stays_where_something_else_gets_slow(job: Maker) -> None:
    run = job()
    ease(run)
    run.iterate(10, EASED)
    run.look()
    run.iterate(10, 2 * SLOW)
    run.look(5)
    assert ("revert", "micro-batches") not in run.decisions()


def test_a_slow_link_beside_a_slow_rank_does_not_keep_the_rank_from_being_eased(job: Maker) -> None:
    run = job()
    slow_down(run)
    link = Subject(kind="link", link="rank 0 -> rank 1", rank=[0, 1])
    run.raise_finding(0, onset=run.iteration - 3, phrase="slow-link", subject=link)
    run.iterate(6, SLOW)
    run.look(2)
    assert ("adapt", "micro-batches") in run.decisions()


def test_suspects_are_measured_again_after_a_pause_that_failed(job: Maker) -> None:
    run = job()
    run.iterate(40, HEALTHY)
    run.measured_in_health()
    narrow(run, proven=False)
    run.iterate(60, SLOW)
    run.raise_finding(None, onset=40)
    run.look()
    run.prober.answer = Probed(time="2026-01-01T00:00:00.000Z", incarnation=0, step=9, pause=0.0, passes=0,
                               failed="nobody came")  # fmt: skip
    run.look()
    assert len(run.prober.asked) == 1
    run.iterate(60, SLOW)
    run.look(2)
    assert len(run.prober.asked) == 2


def test_a_machine_of_many_moods_does_not_make_plans_follow_each(job: Maker) -> None:
    run = job()
    ease(run)
    run.iterate(10, EASED)
    for mood in range(40):
        run.measure({mood % RANKS: 1.6, (mood + 1) % RANKS: 1.3}, run.plan()["counts"])
        run.iterate(10, 1.5 * SLOW)
        run.look()
        run.obey()
        run.look()
    assert run.decisions().count(("adapt", "micro-batches")) <= 8


def test_a_loop_that_does_not_obey_is_not_asked_again(job: Maker) -> None:
    run = job()
    slow_down(run)
    run.iterate(3, SLOW)
    run.look()
    run.iterate(ENOUGH, SLOW)
    run.look(200)
    assert run.adapted() == [("micro-batches", "apply", False)]
    run.iterate(30, SLOW)
    run.look(10)
    assert run.decisions().count(("adapt", "micro-batches")) == 1


def test_a_loop_of_long_steps_has_time_for_its_plan(job: Maker) -> None:
    run = job()
    long = 60.0
    for rank, ring in run.rings.items():
        ring.set(micro_batches=4, micro_batch_ns=int(15e9 if rank == 2 else 7e9))
    run.offer()
    run.iterate(40, 30.0)
    run.measured_in_health()
    run.raise_finding()
    run.iterate(10, long)
    run.look()
    assert run.plan() is not None
    for _ in range(ENOUGH - 1):
        run.iterate(1, long)
        run.look()
    assert run.adapted() == []
    run.obey()
    run.look()
    assert run.adapted() == [("micro-batches", "apply", True)]


def test_a_plan_that_was_given_up_and_comes_after_all_is_taken_back_too(job: Maker) -> None:
    run = job()
    slow_down(run)
    run.iterate(3, SLOW)
    run.look()
    run.iterate(ENOUGH, SLOW)
    run.look(200)
    assert run.adapted() == [("micro-batches", "apply", False)]
    run.obey()
    run.measure({}, run.plan()["counts"])
    run.close_finding()
    run.look(2)
    run.iterate(5, EASED)
    run.look(20)
    assert run.adapted() == [("micro-batches", "apply", False), ("micro-batches", "apply", True)]
    assert run.decisions()[-1] == ("revert", "micro-batches")
    assert run.plan() == {"version": 2, "counts": [TOTAL // RANKS] * RANKS}


def test_a_plan_on_its_way_when_the_slowness_ends_is_taken_back(job: Maker) -> None:
    run = job()
    slow_down(run)
    run.iterate(3, SLOW)
    run.look()
    run.close_finding()
    run.obey()
    run.measure({}, run.plan()["counts"])
    run.look(2)
    run.iterate(5, EASED)
    run.look(20)
    assert run.decisions() == [("adapt", "micro-batches"), ("revert", "micro-batches")]


def test_a_plan_never_has_the_version_of_one_that_was_given_up(job: Maker) -> None:
    run = job()
    slow_down(run)
    announce(Path(run.rings[0].path), 7, Estimate(0.0, 0.0, counts=(1, 1, 1, 13)))
    run.iterate(3, SLOW)
    run.look()
    assert run.plan()["version"] == 8


def test_a_plan_that_cannot_be_written_has_failed(job: Maker) -> None:
    run = job()
    slow_down(run)
    Path(run.rings[0].path).with_suffix(".plan.new").mkdir()
    run.iterate(3, SLOW)
    run.look(2)
    assert run.adapted() == [("micro-batches", "apply", False)]
    run.iterate(30, SLOW)
    run.look(10)
    assert run.decisions().count(("adapt", "micro-batches")) == 1


def test_a_plan_that_cannot_be_taken_back_is_tried_less_and_less(job: Maker) -> None:
    run = job()
    ease(run)
    Path(run.rings[0].path).with_suffix(".plan.new").mkdir()
    run.close_finding()
    run.measure({}, run.plan()["counts"])
    for _ in range(200):
        run.iterate(5, EASED)
        run.look()
    assert 2 <= run.decisions().count(("revert", "micro-batches")) <= 10  # in 200 seconds


def test_observe_takes_nothing_back(job: Maker) -> None:
    run = job("observe")
    run.offer()
    run.measure({}, [5, 5, 1, 5])
    run.iterate(40, HEALTHY)
    run.recorder.write(
        Adapted(time=stamp(0), incarnation=0, strategy="micro-batches", action="apply", step=1, counts=[5])
    )
    for _ in range(20):
        run.iterate(3, HEALTHY)
        run.look(5)
    assert run.plan() is None
    assert not run.prober.asked


def test_what_is_in_force_of_an_unknown_strategy_is_left_alone(job: Maker) -> None:
    run = job()
    slow_down(run)
    run.recorder.write(
        Adapted(time=stamp(0), incarnation=0, strategy="later", action="apply", step=1, counts=[5])
    )
    run.iterate(20, SLOW)
    run.look(10)
    assert run.decisions()[-1] == ("adapt", "micro-batches")


@pytest.mark.parametrize("seconds", [0.0, float("nan"), float("inf"), -1.0, 1e308])
def test_damaged_iterations_are_not_reckoned_with(job: Maker, seconds: float) -> None:
    run = job()
    slow_down(run)
    healthy, run.seconds = run.seconds, 0.0
    for ranks in ([], [0, 1, 2, 3]):
        times = [seconds] * len(ranks)
        for _ in range(4):
            run.recorder.write(
                Iteration(time=stamp(0), incarnation=0, iteration=run.iteration, ranks=ranks, durations=times,
                          busy=times[1:], waiting=[])
            )  # fmt: skip
    run.seconds = healthy
    run.iterate(3, SLOW)
    run.look()
    assert run.decisions() == [("adapt", "micro-batches")]


@pytest.mark.parametrize("seconds", [0.0, float("nan"), float("inf"), -1.0])
def test_a_job_without_a_healthy_time_is_left_alone(job: Maker, seconds: float) -> None:
    run = job()
    run.offer()
    run.measure({2: 2.0})
    for _ in range(20):
        times = [seconds] * RANKS
        run.recorder.write(
            Iteration(time=stamp(0), incarnation=0, iteration=run.iteration, ranks=[0, 1, 2, 3],
                      durations=times, busy=times, waiting=times)
        )  # fmt: skip
        run.iteration += 1
    run.raise_finding(phrase="slow-link")
    run.look(10)
    assert not [one for one in run.heard if isinstance(one, WatchDegraded)]


def test_a_log_that_is_not_understood_ends_the_mitigation(job: Maker) -> None:
    run = job()
    slow_down(run)
    run.iterate(1, SLOW)
    run.recorder.write(IncarnationStarted(time="yesterday", incarnation=1, agents={}, rings=""))
    run.iterate(10, SLOW)
    run.look(10)
    assert run.decisions() == []
    assert [one.text[:36] for one in run.heard if isinstance(one, WatchDegraded)] == [
        "slowness is no longer acted on becau"
    ]


def test_observe_says_what_it_would_do_once_and_touches_nothing(job: Maker) -> None:
    run = job("observe")
    slow_down(run)
    run.iterate(10, SLOW)
    run.look(10)
    assert run.decisions().count(("would-adapt", "micro-batches")) == 1
    assert run.plan() is None
    assert run.prober.asked == []


def test_a_loop_that_offers_nothing_is_only_watched(job: Maker) -> None:
    run = job()
    run.iterate(40, HEALTHY)
    run.iterate(6, SLOW, {2: 0.16})
    run.raise_finding(onset=40)
    run.look(3)
    assert run.decisions() == [("none", "none")]
    assert run.plan() is None


def test_a_lasting_slowness_that_nothing_else_cures_is_worth_a_restart(job: Maker, tmp_path: Path) -> None:
    run = job("restart", **saved(tmp_path, 1500.0))
    run.iterate(40, HEALTHY)
    run.iterate(10, SLOW, {2: 0.16})
    run.raise_finding(onset=40)
    assert run.look() is None, "ten slow iterations are not worth a restart"
    run.iterate(3000, SLOW, {2: 0.16})
    act = run.look()
    assert act is not None
    assert (act.verdict.action, act.verdict.nodes_out, act.verdict.nodes_in) == (
        "restart",
        ("node2",),
        ("spare0",),
    )
    assert (act.strategy, act.finding) == ("restart", 0)
    assert act.weighed.lost > act.weighed.costs["restart"] > 0


def test_a_job_that_saves_nothing_has_too_much_to_lose_by_a_restart(job: Maker) -> None:
    run = job("restart")
    run.iterate(40, HEALTHY)
    run.iterate(3000, SLOW, {2: 0.16})
    run.raise_finding(onset=40)
    assert run.look(5) is None


def test_whom_the_watch_is_not_sure_of_is_measured_before_a_node_is_taken_out(
    job: Maker, tmp_path: Path
) -> None:
    run = job("restart", **saved(tmp_path, 1500.0))
    run.iterate(40, HEALTHY)
    run.iterate(10, SLOW, {2: 0.16})
    run._write(Narrowed, incarnation=0, iteration=40, cause="compute", suspects=[2], proven=True)
    run.raise_finding(onset=40, confidence=0.6)
    run.iterate(1000, SLOW, {2: 0.16})
    assert run.look() is None
    assert [one.ranks for one in run.prober.asked] == [(0, 1, 2, 3)]
    run.prober.answer = Probed(time="2026-01-01T00:00:00.000Z", incarnation=0, step=9, pause=0.4, passes=0,
                               slow_ranks=[2])  # fmt: skip
    run.look()
    act = run.look()
    assert act is not None
    assert act.verdict.nodes_out == ("node2",)


def test_adapt_never_restarts(job: Maker, tmp_path: Path) -> None:
    run = job("adapt", **saved(tmp_path, 1500.0))
    run.iterate(40, HEALTHY)
    run.iterate(10, SLOW, {2: 0.16})
    run.raise_finding(onset=40)
    run.iterate(3000, SLOW, {2: 0.16})
    assert run.look(5) is None
    assert run.decisions().count(("would-restart", "restart")) == 1


@pytest.mark.parametrize("doubt", [{"restarts": 0}, {"max_nodes_out": 0}, {"min_nodes": 5}])
def test_a_node_that_the_rules_keep_is_no_reason_to_restart(job: Maker, doubt: dict[str, int]) -> None:
    run = job("restart", **doubt)
    run.iterate(40, HEALTHY)
    run.iterate(3000, SLOW, {2: 0.16})
    run.raise_finding(onset=40)
    assert run.look(5) is None


def saved(folder: Path, at: float) -> dict[str, str]:
    """Make a folder of checkpoints whose newest was saved then."""
    (folder / "checkpoints" / "step-1").mkdir(parents=True)
    os.utime(folder / "checkpoints" / "step-1", (at, at))
    return {"checkpoint_dir": str(folder / "checkpoints")}


def narrow(run: Run, proven: bool) -> None:
    """Say what was narrowed: ranks 0 and 1 or the link between them."""
    run._write(Narrowed, incarnation=0, iteration=run.iteration, cause="link", suspects=[0, 1],
               links=[(0, 1), (1, 0)], proven=proven)  # fmt: skip


def test_suspects_are_measured_once_that_has_earned_its_pause(job: Maker) -> None:
    run = job()
    run.iterate(40, HEALTHY)
    run.measured_in_health()
    run.iterate(4, SLOW)
    narrow(run, proven=False)
    run.raise_finding(None, onset=40)
    run.look()
    assert run.prober.asked == []
    run.iterate(40, SLOW)
    run.look()
    assert [(one.ranks, one.links) for one in run.prober.asked] == [((0, 1, 2, 3), ((0, 1), (1, 0)))]
    answer = Probed(time="2026-01-01T00:00:00.000Z", incarnation=0, step=9, pause=0.4, passes=2,
                    slow_links=[(0, 1)])  # fmt: skip
    run.prober.answer = answer
    run.look(5)
    assert [one for one in run.heard if isinstance(one, Probed)][-1] == answer
    assert len(run.prober.asked) == 1, "what was measured is known"


def test_the_healthy_job_is_measured_once_where_it_may_be_paused(job: Maker) -> None:
    run = job()
    run.iterate(20, HEALTHY)
    run.look()
    assert run.prober.asked == []
    run.iterate(20, HEALTHY)
    run.look(3)
    assert [one.healthy for one in run.prober.asked] == [True]
    run.measured_in_health()
    run.iterate(100, HEALTHY)
    run.look(3)
    assert run.prober.asked == []


def test_observe_never_pauses_a_healthy_job(job: Maker) -> None:
    run = job("observe")
    run.iterate(100, HEALTHY)
    run.look(3)
    assert run.prober.asked == []


def test_what_is_proven_is_not_measured(job: Maker) -> None:
    run = job()
    run.iterate(40, HEALTHY)
    run.measured_in_health()
    narrow(run, proven=True)
    run.iterate(60, SLOW)
    run.raise_finding(None, onset=40)
    run.look(5)
    assert run.prober.asked == []


def test_a_measurement_from_before_a_link_was_slow_does_not_show_that_it_is_well(job: Maker) -> None:
    run = link_is_avoided(job(per_node=2))
    run.look(80)
    assert [one.healthy for one in run.prober.asked] == [True], "it is measured again"


def test_nothing_is_measured_to_take_back_what_costs_nothing(job: Maker) -> None:
    run = link_is_avoided(job())
    run.look(80)
    assert run.prober.asked == []
    assert run.decisions() == [("adapt", "topology")]


def link_is_avoided(run: Run) -> Run:
    """Let the link from rank 0 to rank 1 become slow, and the plan take effect."""
    ring = {"pipeline": 1, "data": 4, "ranks": [0, 1, 2, 3], "bytes": [1000]}
    run.offer({"positions": ring})
    own = dict.fromkeys(range(RANKS), HEALTHY / 2)
    run.iterate(40, HEALTHY, own)
    run.measured_in_health()
    link = Subject("link", node=[run.node(0), run.node(1)], rank=[0, 1], link="rank 0 -> rank 1")
    run.iterate(300, SLOW, own)
    run.raise_finding(None, onset=40, subject=link, fault="communication-slow")
    run.look()
    plan = run.plan()
    assert plan is not None
    run.obey()
    run.offer({"positions": ring | {"ranks": plan["positions"]}})
    run.look()
    run.iterate(10, EASED, own)
    run.look(3)
    assert run.decisions() == [("adapt", "topology")]
    return run


def test_a_run_is_gone_on_with_from_its_log(job: Maker) -> None:
    run = job()
    ease(run)
    run.iterate(10, EASED)
    run.mitigation = Mitigation(run.mitigation._parts, run.mitigation._prober)
    for event in run.heard:
        run.mitigation.hear(event)
    run.recorder.listen(run.mitigation.hear)
    run.iterate(5, EASED)
    run.measure({}, run.plan()["counts"])
    run.look(10)
    assert run.decisions()[-1] == ("revert", "micro-batches")
    assert run.plan()["version"] == 2


def test_another_incarnation_begins_with_nothing(job: Maker) -> None:
    run = job()
    ease(run)
    run.start(1)
    run.look(10)
    assert run.plan() is None
    assert run.adapted() == [("micro-batches", "apply", True)]


def test_a_failure_of_ours_ends_the_mitigation_and_is_said(
    job: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = job()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("evenpace.respond.mitigation.mitigation.apply", fail)
    slow_down(run)
    run.iterate(3, SLOW)
    run.look(5)
    said = [one.text for one in run.heard if isinstance(one, WatchDegraded)]
    assert len(said) == 1
    assert "disk full" in said[0]
    assert len(run.rings) == RANKS
