from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from evenpace.findings import Finding, Severity, Subject
from evenpace.report.deeds import deed
from evenpace.report.story import Story, tell
from evenpace.report.verdict import verdict
from evenpace.report.view import cards
from evenpace.watch import events as ev


def test_the_verdict_names_who_what_when_and_what_was_done(demo: list[ev.Event]) -> None:
    assert verdict(tell(demo), "en") == (
        "Rank 1 on node1: slow worker from 00:27:04 to 00:27:33, nothing done; "
        "rank 2 on node2: non-communication hang from 00:27:47 to 00:27:54, "
        "restarted (out: node2, in: node4, from step 150). The run finished."
    )
    korean = verdict(tell(demo), "ko")
    assert all(word in korean for word in ("node1", "node2", "node4", "재시작함", "정상 완료"))


def test_a_run_without_findings_says_so() -> None:
    assert verdict(Story(), "en").startswith("No fault found.")
    ended = ev.RunEnded(time=ev.stamp(10), outcome="interrupted", exit_code=130)
    joined = ev.WorkerJoined(
        time=ev.stamp(1), incarnation=0, rank=0, local_rank=0, world_size=1, node="n", pid=1, tap="native"
    )
    assert verdict(tell([joined, ended]), "en") == "No fault found. The run was interrupted by the user."


def test_a_run_in_which_nobody_was_seen_is_not_called_healthy() -> None:
    ended = ev.RunEnded(time=ev.stamp(10), outcome="finished", exit_code=0)
    assert verdict(tell([ended]), "en").startswith("No worker was seen")


def test_an_outcome_of_a_later_version_is_shown_as_it_is() -> None:
    ended = ev.RunEnded(time=ev.stamp(10), outcome="parked", exit_code=0)
    assert verdict(tell([ended]), "ko").endswith("parked")


def test_many_findings_are_counted_and_not_listed(demo: list[ev.Event]) -> None:
    raised = next(e for e in demo if isinstance(e, ev.FindingRaised))
    more = [
        ev.FindingRaised(
            time=raised.time,
            incarnation=0,
            id=rank,
            finding=replace(raised.finding, subject=Subject("rank", node="n", rank=rank)),
        )
        for rank in range(10, 15)
    ]
    assert "4 more" in verdict(tell([*demo, *more]), "en")


def finding(number: int, at: float, severity: Severity, subject: Subject) -> ev.FindingRaised:
    said = Finding(
        fault="non-communication-slow", severity=severity, confidence=0.9, subject=subject, summary=""
    )
    return ev.FindingRaised(time=ev.stamp(at), incarnation=0, id=number, finding=said)


def test_one_rank_with_several_findings_is_told_once_with_its_worst() -> None:
    rank, other = Subject("rank", node="n1", rank=3), Subject("rank", node="n2", rank=5)
    story = tell(
        [
            finding(0, 1000, Severity.WARNING, rank),
            finding(1, 1060, Severity.WARNING, other),
            finding(2, 1120, Severity.CRITICAL, rank),
            finding(3, 1180, Severity.WARNING, rank),
        ]
    )
    said = verdict(story, "en")
    assert said.startswith(
        "Rank 5 on n2: slow worker since 00:17:40; "
        "rank 3 on n1: slow worker since 00:18:40, and 2 more about rank 3 on n1. "
    )
    assert said.count("rank 3 on n1: ") == 1
    assert "n1의 rank 3 관련 2건 더 있음" in verdict(story, "ko")


def test_those_beyond_the_sentence_are_counted_with_what_is_about_them() -> None:
    ranks = [Subject("rank", node="n", rank=rank) for rank in (0, 1, 2, 3, 3)]
    story = tell([finding(i, 1000 + i, Severity.WARNING, one) for i, one in enumerate(ranks)])
    assert "; 2 more. " in verdict(story, "en")


def test_deeds() -> None:
    would = ev.Decision(
        time="", incarnation=0, policy="observe", action="would-restart", reason="", nodes_out=["n"]
    )
    assert deed(would, "en") == "would have restarted (policy: observe) (out: n, from the beginning)"
    other = ev.Decision(time="", incarnation=0, policy="x", action="shrink", reason="")
    assert deed(other, "en") == "shrink"


def test_who_is_not_named_has_no_confidence() -> None:
    nobody = finding(0, 1000, Severity.WARNING, Subject("job"))
    unsure = msgspec.structs.replace(nobody, finding=replace(nobody.finding, confidence=0.0))
    story = tell([unsure])
    assert verdict(story, "en").startswith("Slow worker since 00:16:40, nobody named. ")
    assert "00:16:40부터(원인 미특정)" in verdict(story, "ko")
    (card,) = cards(story, "en")
    assert card.confidence == ""


@pytest.mark.parametrize(("iteration", "why"), [(96, "the job's work changed"), (None, "the job ended")])
def test_a_finding_ends_with_the_job_or_with_its_work(iteration: int | None, why: str) -> None:
    raised = finding(0, 1000, Severity.WARNING, Subject("rank", rank=3))
    since = ev.stamp(1060)
    closed = ev.FindingClosed(
        time=since, incarnation=0, id=0, reason="ended", since=since, iteration=iteration
    )
    (card,) = cards(tell([raised, closed]), "en")
    assert card.state == why
