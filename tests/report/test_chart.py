from __future__ import annotations

import numpy as np

from evenpace.report.chart import HEIGHT, WIDTH, chart
from evenpace.report.story import Story, tell
from evenpace.watch import events as ev


def test_onset_relief_and_restart_are_marked(demo: list[ev.Event]) -> None:
    story = tell(demo)
    drawn = chart(story, "en")
    assert drawn is not None
    assert [band.label for band in drawn.bands] == ["#1 node2", "#2 node1"]
    assert drawn.bands[1].start == story.findings[1].onset
    assert drawn.bands[1].end == story.findings[1].closed
    assert drawn.restarts == [story.incarnations[1].started]
    assert drawn.above == 0


def test_data_has_a_gap_between_incarnations_and_runs_forward(demo: list[ev.Event]) -> None:
    data = chart(tell(demo), "en").data()  # type: ignore[union-attr]
    assert data["seconds"].count(None) == 1  # type: ignore[attr-defined]
    assert (np.diff(data["times"]) >= 0).all()  # type: ignore[call-overload]


def test_outliers_do_not_flatten_the_plot(big: list[ev.Event]) -> None:
    drawn = chart(tell(big), "en")
    assert drawn is not None
    assert drawn.above == 4
    assert drawn.top < 1 < drawn.longest


def test_the_drawing_stays_within_its_frame(demo: list[ev.Event]) -> None:
    drawn = chart(tell(demo), "en")
    assert drawn is not None
    assert len(drawn.polylines()) == 2
    for points in drawn.polylines():
        for x, y in (map(float, point.split(",")) for point in points.split()):
            assert 0 <= x <= WIDTH
            assert 0 <= y <= HEIGHT
    assert 2 <= len(drawn.x_ticks()) <= 9
    assert 2 <= len(drawn.y_ticks()) <= 6


def test_strategies_and_probes_have_a_lane_of_their_own(slow: list[ev.Event], demo: list[ev.Event]) -> None:
    drawn = chart(tell(slow), "en")
    assert drawn is not None
    assert [strip.label for strip in drawn.strips] == ["micro-batches", "topology"]
    assert drawn.lane > 0
    assert [stop["label"] for stop in drawn.data()["stops"]] == ["probe 410 ms"]  # type: ignore[attr-defined]
    assert chart(tell(demo), "en").lane == 0  # type: ignore[union-attr]


def test_nothing_to_draw() -> None:
    assert chart(Story(), "en") is None


def test_iterations_of_no_length_and_at_one_moment_can_be_drawn() -> None:
    event = ev.Iteration(
        time=ev.stamp(9), incarnation=0, iteration=0, ranks=[0], durations=[0.0], busy=[0.0], waiting=[0.0]
    )
    drawn = chart(tell([event, event]), "en")
    assert drawn is not None
    assert drawn.x_ticks()
    assert drawn.polylines()
