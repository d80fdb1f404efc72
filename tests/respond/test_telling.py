from __future__ import annotations

import pytest

from evenpace.respond import telling
from evenpace.watch import events as ev


def node_of(rank: int) -> str:
    return "n1" if rank == 1 else ""


def narrowed(**details: object) -> ev.Narrowed:
    return ev.Narrowed(time="t", incarnation=0, iteration=3, **({"cause": "compute", "why": "so"} | details))


def probed(**details: object) -> ev.Probed:
    return ev.Probed(time="t", incarnation=0, **({"step": 5, "pause": 1.5, "passes": 2} | details))


SLOW = ev.ComputeProbe(rank=1, seconds=3.0, expected=1.0, wrong=2)
LINK = ev.LinkProbe(source=0, target=2, bytes=9, seconds=0.5, expected=0.0)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (narrowed(suspects=[1]), "Narrowed to rank 1 on n1 (slow in its own work), not proven: so"),
        (
            narrowed(cause="link", suspects=[0, 2], links=[(0, 2)]),
            "Narrowed to rank 0 -> rank 2 (slow transfer)",
        ),
        (narrowed(cause="gravity", suspects=[2]), "Narrowed to rank 2 (gravity)"),
        (narrowed(suspects=list(range(40))), "24 more"),
        (narrowed(), "Nobody is suspected yet: so"),
        (probed(), "training paused 1.5 s, link passes 2: slow: nothing"),
        (
            probed(compute=[SLOW], slow_ranks=[1]),
            "rank 1 on n1 (3.00x), rank 1 on n1 computed 2 values wrong",
        ),
        (probed(links=[LINK], slow_links=[(0, 2)]), "slow: rank 0 -> rank 2 (?)"),
        (probed(links=[LINK], failed="half"), "slow: nothing; half"),
        (probed(failed="late"), "Probe failed, training paused 1.5 s: late"),
        (probed(pause=0.0, failed="late"), "Probe failed: late"),
    ],
)
def test_what_was_searched_and_measured(event: ev.Narrowed | ev.Probed, words: str) -> None:
    assert words in telling.told(event, node_of, "en")
    assert telling.told(event, node_of, "ko")


def adapted(**details: object) -> ev.Adapted:
    return ev.Adapted(
        time="t", incarnation=0, **({"strategy": "topology", "action": "apply", "step": 7} | details)
    )


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            adapted(positions=[1, 0], pause=2.0),
            "topology in force from step 7, positions by rank 1 0, pause 2 s",
        ),
        (adapted(action="revert"), "topology taken back from step 7"),
        (adapted(failed="no"), "topology not applied: no"),
        (adapted(action="revert", failed="no"), "topology not taken back: no"),
        (
            adapted(strategy="x\x1b", counts=[1] * 40),
            "x␛ in force from step 7, by replica 1 1 1 1 1 1 1 1 1 1 1 1 1",
        ),
    ],
)
def test_what_was_done(event: ev.Adapted, words: str) -> None:
    assert telling.told(event, node_of, "en").startswith(words)
    assert telling.told(event, node_of, "ko")


def test_the_numbers_of_a_decision() -> None:
    decision = ev.Decision(
        time="t",
        incarnation=0,
        policy="adapt",
        action="adapt",
        reason="",
        lost=3.0,
        costs={"none": 0.0, "topology": 2.0, "restart": 90.0},
        rates={"none": 0.25, "topology": 0.05},
    )
    assert telling.figures(decision, "en") == (
        "lost so far 3 s; while it stays slow, each choice still loses part of the time:"
        " waiting 25%, topology 5% plus 2 s once, restart 1 min 30 s once"
    )
    assert telling.figures(decision, "ko") == (
        "지금까지 손실 3 s; 느린 상태가 이어질 때 선택별로 계속 잃는 시간의 비율:"
        " 대기 25%, topology 변경 5%(1회 비용 2 s), 재시작 1회 1 min 30 s"
    )
    plain = ev.Decision(time="t", incarnation=0, policy="p", action="none", reason="")
    assert telling.figures(plain, "en") == ""
