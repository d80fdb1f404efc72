from __future__ import annotations

from evenpace.report.lanes import letters, stops, strips
from evenpace.report.story import Story, tell
from evenpace.watch import events as ev


def test_strips_and_stops(slow: list[ev.Event]) -> None:
    story = tell(slow)
    assert [(one.label, one.open) for one in strips(story, "en")] == [
        ("micro-batches", False),
        ("topology", False),
    ]
    assert [one.label for one in stops(story, "en")] == ["probe 410 ms"]
    assert strips(story, "en", 1) == stops(story, "en", 1) == []


def test_a_strategy_in_force_reaches_to_the_last_event(slow: list[ev.Event]) -> None:
    story = tell(slow[:120])
    (strip,) = strips(story, "ko")
    assert (strip.end, strip.open) == (story.latest, True)


def test_letters_lie_under_the_iterations(slow: list[ev.Event]) -> None:
    story = tell(slow)
    lane, legend = letters(story, story.incarnations[0], 220, "en")
    assert len(lane) == 220
    assert (lane[59], lane[60], lane[74], lane[75], lane[100]) == (" ", "·", "·", "m", "m")
    assert (lane[158], lane[165], lane[170], lane[210]) == ("P", "P", "t", "·")
    assert legend == "· slow  m micro-batches  t topology  P pause"
    assert len(letters(story, story.incarnations[0], 40, "en")[0]) == 40
    assert letters(story, story.incarnations[0], 99, "en", 20)[0] == "·" * 20


def test_a_run_without_an_answer_has_no_letters(demo: list[ev.Event]) -> None:
    story = tell(demo)
    assert letters(story, story.incarnations[0], 80, "en") == ("", "")
    assert letters(Story(), Story().incarnation(0), 80, "en") == ("", "")
