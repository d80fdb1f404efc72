from __future__ import annotations

from dataclasses import replace

from evenpace.diagnose.engine import Diagnosis
from evenpace.diagnose.model import Identity
from evenpace.diagnose.signature import signatures
from evenpace.diagnose.telling import finding
from evenpace.findings import Subject
from evenpace.report import view
from evenpace.report.json import report
from evenpace.report.story import Story, tell
from evenpace.report.words import sentence
from evenpace.watch import events as ev


def test_facts_leave_out_what_is_not_known(demo: list[ev.Event]) -> None:
    facts = dict(view.facts(tell(demo), "en"))
    assert facts["Taken out"] == "node2"
    assert facts["Policy"] == "restart (1 of 3 restarts used, cap on nodes out: 1)"
    assert "repeated steps" in facts["Time lost"]
    assert dict(view.facts(Story(damaged=3), "en"))["Damaged lines"] == "3"
    assert "Command" not in dict(view.facts(Story(), "en"))


def test_workers_known_by_a_part_of_the_log_only() -> None:
    story = tell(
        [
            ev.WorkerExited(
                time=ev.stamp(7), incarnation=0, rank=1, node="n1", pid=1, how="killed", signal="SIGKILL"
            ),
            ev.Iteration(
                time=ev.stamp(6),
                incarnation=0,
                iteration=0,
                ranks=[0],
                durations=[2.0],
                busy=[1.0],
                waiting=[1.0],
            ),
        ]
    )
    seen, killed = view.workers(story.incarnations[0], "en")
    assert (seen.rank, seen.node, seen.share) == (0, "", 0.5)
    assert (killed.rank, killed.end, killed.busy) == (1, "killed: SIGKILL", None)


def test_victims_are_drawn_together_where_ranks_say_it_all() -> None:
    ranks = [Subject("rank", node=f"n{r}", rank=r) for r in (0, 1, 2, 5)]
    assert view.victims(ranks, "en") == "rank 0-2, 5"
    assert view.victims([*ranks[:1], Subject("node", node="n9")], "en") == "rank 0 on n0, n9"


def test_a_card_says_everything_a_finding_says(demo: list[ev.Event]) -> None:
    card = view.cards(tell(demo), "ko")[0]
    assert card.severity == "critical"
    assert card.when == "00:27:47 - 00:27:54, iteration 212"
    assert card.advice[0][1].startswith("ssh node2")
    assert card.missing
    assert card.deed.startswith("재시작함")


def test_what_a_log_has_said_is_told_in_korean_everywhere() -> None:
    signature = signatures()["torch-oom"]
    said = finding(Diagnosis(signature, "oom-gpu", "critical", 0.95, Identity(rank=3, host="node1")))
    story = tell([ev.FindingRaised(time=ev.stamp(9), incarnation=0, id=0, finding=said)])
    (card,) = view.cards(story, "ko")
    assert card.sentence == signature.content.title.ko
    assert [text for text, _ in card.advice] == [step.ko for step in signature.content.advice]
    (page,) = report(story, "ko")["findings"]
    assert (page["summary"], page["advice"][0]["text"]) == (card.sentence, card.advice[0][0])
    assert sentence(said, "ko") == f"node1의 rank 3: {card.sentence}"
    assert view.cards(story, "en")[0].sentence == said.summary


def test_evidence_without_end_is_counted(demo: list[ev.Event]) -> None:
    raised = next(e for e in demo if isinstance(e, ev.FindingRaised))
    long = replace(raised.finding, evidence=raised.finding.evidence * 20)
    story = tell([ev.FindingRaised(time=raised.time, incarnation=0, id=1, finding=long)])
    assert view.cards(story, "en")[0].evidence[-1] == "24 more: --format json has them all"
