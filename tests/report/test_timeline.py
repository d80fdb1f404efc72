from __future__ import annotations

from dataclasses import replace as with_
from itertools import pairwise

import pytest
from msgspec.structs import replace

from evenpace.findings import Finding, Severity, Subject
from evenpace.report import timeline as module
from evenpace.report.story import Story, tell
from evenpace.report.text import print_report
from evenpace.report.timeline import Moment, last_search, timeline
from evenpace.terms import say
from evenpace.watch import events as ev

LINK = {"slowdown": 1.4, "onset": 12}
GROUP = Finding(
    fault="communication-slow",
    severity=Severity.WARNING,
    confidence=0.6,
    subject=Subject("job"),
    summary=say("slow-communication", "en", **LINK),
    phrase="slow-communication",
    details=dict(LINK),
)
NAMED = {"rank": 3, "node": "n1", "slowdown": 1.6, "onset": 12}
RANK = with_(
    GROUP,
    fault="non-communication-slow",
    subject=Subject("rank", node="n1", rank=3),
    summary=say("slow-worker", "en", **NAMED),
    phrase="slow-worker",
    details=dict(NAMED),
)


def raised(at: float, finding: Finding) -> ev.FindingRaised:
    return ev.FindingRaised(time=ev.stamp(at), incarnation=0, id=0, finding=finding, iteration=12)


def narrowed(at: float, rank: int = 0) -> ev.Narrowed:
    return ev.Narrowed(
        time=ev.stamp(at), incarnation=0, iteration=1, cause="compute", suspects=[rank], why="so it seems"
    )


def faults(story: Story, lang: str) -> list[Moment]:
    return [moment for moment in timeline(story, lang) if moment.kind == "fault"]


def test_it_says_what_was_said_then_and_what_took_its_place() -> None:
    story = tell([raised(1000, GROUP), raised(1060, RANK)])
    first, second = faults(story, "en")
    assert (first.at, second.at) == (1000, 1060)
    assert first.text == f"{GROUP.summary} (said then; replaced at 00:17:40)"
    assert second.text == f"Changed to: {RANK.summary}"
    korean = faults(story, "ko")
    assert korean[0].text.startswith(say("slow-communication", "ko", **LINK))
    assert korean[0].text.endswith("(당시 판정, 00:17:40에 변경됨)")
    assert korean[1].text == f"판정 변경: {say('slow-worker', 'ko', **NAMED)}"


def test_what_is_said_again_with_more_evidence_is_no_change() -> None:
    surer = with_(GROUP, confidence=0.9)
    (only,) = faults(tell([raised(1000, GROUP), raised(1060, surer)]), "en")
    assert (only.at, only.text) == (1000, GROUP.summary)


def test_three_in_a_row_are_each_replaced_by_the_next() -> None:
    other = with_(GROUP, summary="another", phrase=None)
    told = faults(tell([raised(1000, GROUP), raised(1060, other), raised(1120, RANK)]), "en")
    assert [moment.text for moment in told][1] == "Changed to: another (said then; replaced at 00:18:40)"


def test_too_many_of_one_kind_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 10)
    story = tell([raised(999, GROUP), *(narrowed(1000 + i, i) for i in range(100))])
    moments = timeline(story, "en")
    assert [moment.kind for moment in moments] == ["fault", *["search"] * 11]
    assert moments[6].text == (
        "90 more of this kind until 00:18:14 are left out here; events.jsonl has them all"
    )
    assert all(a.at <= b.at for a, b in pairwise(moments))
    assert "rank 4" in moments[5].text
    assert "rank 95" in moments[7].text
    assert "90건 생략" in timeline(story, "ko")[6].text


def test_the_last_search_is_the_latest_by_time() -> None:
    assert last_search(Story(), "en") is None
    found = last_search(tell([narrowed(1010, 1), narrowed(1000, 2)]), "en")
    assert found is not None
    assert (found.at, "rank 1" in found.text) == (1010, True)


def test_a_page_does_not_grow_with_the_log(slow: list[ev.Event]) -> None:
    from rich.console import Console

    one = next(event for event in slow if isinstance(event, ev.Narrowed))
    start = ev.seconds(one.time)
    more = [replace(one, time=ev.stamp(start + i / 1000), suspects=[i % 8]) for i in range(3000)]
    console = Console(width=100, record=True, file=None, quiet=False)
    with console.capture() as captured:
        print_report(tell([*slow, *more]), console, "en")
    assert captured.get().count("Narrowed to") < 2 * (module.MOST + 20)
    assert "left out here" in captured.get()


def test_the_timeline_is_in_order_and_ends_with_the_run(demo: list[ev.Event]) -> None:
    moments = timeline(tell(demo), "en")
    assert [m.at for m in moments] == sorted(m.at for m in moments)
    assert moments[-1].text == "Run: finished, exit code 0"
    assert [m.kind for m in moments].count("fault") == 2
