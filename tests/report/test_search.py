from __future__ import annotations

from msgspec.structs import replace

from evenpace.report.search import MOST, in_lines, search
from evenpace.report.story import tell
from evenpace.report.timeline import timeline
from evenpace.watch import events as ev


def test_each_event_belongs_to_the_finding_begun_last(slow: list[ev.Event]) -> None:
    story = tell(slow)
    found = {number: search(story, story.findings[number], "en") for number in (1, 2, 3)}
    assert [len(one.narrowed) for one in found.values()] == [1, 1, 1]
    assert [len(one.probed) for one in found.values()] == [0, 1, 1]
    assert [len(one.strategies) for one in found.values()] == [2, 2, 1]
    assert found[1].weighed is not None
    assert found[1].weighed.headings[3:] == ["waiting", "micro-batches", "topology", "restart"]


def test_the_slowest_come_first_and_are_marked(slow: list[ev.Event]) -> None:
    story = tell(slow)
    (narrowed,) = search(story, story.findings[2], "en").narrowed
    (groups,) = narrowed.tables
    assert groups.rows[0].cells[:5] == ["pp [2,6]", "2, 6", "118 ms", "12 ms", "9.83x"]
    assert [row.marked for row in groups.rows] == [True, *[False] * 5]
    (probed,) = search(story, story.findings[2], "en").probed
    assert [table.marked for table in probed.tables[:1]] == [[]]
    assert in_lines(probed, 4, "en")[1:] == [
        "  Rank: 8 compared, none slow",
        "  rank 2 -> rank 6: 34.2 ms, expected 3.5 ms (9.77x)",
        "  7 more as expected",
    ]


def test_a_table_without_end_is_cut_and_counted(slow: list[ev.Event]) -> None:
    event = next(one for one in slow if isinstance(one, ev.Probed))
    many = replace(event, compute=[ev.ComputeProbe(rank=r, seconds=9.0, expected=1.0) for r in range(99)])
    many = replace(many, slow_ranks=list(range(99)), links=[], slow_links=[])
    story = tell([many if one is event else one for one in slow])
    (probed,) = search(story, story.findings[2], "en").probed
    assert (len(probed.tables[0].rows), probed.tables[0].left_out) == (32, 67)
    assert in_lines(probed, 4, "en")[-1] == "  95 more"


def test_a_pair_in_the_world_is_named_by_its_ranks(slow: list[ev.Event]) -> None:
    event = next(one for one in slow if isinstance(one, ev.Narrowed))
    pair = ev.GroupTime(group="world", ranks=[2, 6], cohort=0, seconds=2.0, expected=1.0, bytes=0)
    story = tell([replace(one, groups=[pair, *one.groups]) if one is event else one for one in slow])
    (narrowed,) = search(story, story.findings[1], "en").narrowed
    assert narrowed.tables[0].rows[0].line == "world, rank 2 -> 6: 2 s, expected 1 s (2.00x)"


def test_a_run_without_answers_has_nothing_to_show(demo: list[ev.Event]) -> None:
    story = tell(demo)
    assert not search(story, story.findings[1], "en")


def test_of_too_many_searches_the_first_and_the_last_are_told(slow: list[ev.Event]) -> None:
    event = next(one for one in slow if isinstance(one, ev.Narrowed))
    start = ev.seconds(event.time)
    more = [replace(event, time=ev.stamp(start + i / 100), suspects=[i]) for i in range(100)]
    story = tell([*slow, *more])
    told = search(story, story.findings[1], "en").narrowed
    assert len(told) == MOST + 1
    assert "85 more of this kind until" in told[MOST // 2].text
    assert told[MOST // 2].tables == []
    assert "rank 99" in told[-1].text


def test_what_is_narrowed_when_a_finding_is_over_is_not_about_it(slow: list[ev.Event]) -> None:
    event = next(one for one in slow if isinstance(one, ev.Narrowed))
    closed = next(one for one in slow if isinstance(one, ev.FindingClosed))
    late = replace(event, time=ev.stamp(ev.seconds(closed.since) + 1.0), suspects=[7])
    story = tell([*slow, late])
    assert len(search(story, story.findings[1], "en").narrowed) == 1
    assert any("rank 7" in moment.text for moment in timeline(story, "en"))
