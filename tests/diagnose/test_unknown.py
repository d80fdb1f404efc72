from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.diagnose.made import line

from evenpace.diagnose.model import Case, Line, Source
from evenpace.diagnose.unknown import rare, says_failed, sounds_bad


def case(*texts: str) -> Case:
    lines = tuple(line(text, number=number) for number, text in enumerate(texts, 1))
    return Case((Source("a.log"),), lines)


def shown(said: list[Line]) -> list[str]:
    return [one.text for one in said]


@pytest.mark.parametrize(
    "text",
    [
        "FooError: the frobnicator is stuck",
        "fabric: port 3 unreachable",
        "Segmentation fault (core dumped)",
        "worker killed by signal",
        "no space left on device",
    ],
)
def test_an_error_sounds_bad(text: str) -> None:
    assert sounds_bad(line(text))


@pytest.mark.parametrize(
    "text",
    [
        "0 errors",
        "no failures so far",
        "error_file: /tmp/x",
        "UserWarning: invalid value",
        "step 3 loss 2.1",
        "",
    ],
)
def test_what_only_mentions_errors_does_not(text: str) -> None:
    assert not sounds_bad(line(text))


def test_a_failure_is_said_by_a_line_that_is_not_already_understood() -> None:
    failed = case("step 1", "ValueError: odd")
    assert says_failed(failed, ())
    assert not says_failed(failed, {("a.log", 2)})
    assert not says_failed(case("step 1", "error rate 0.3"), ())


def test_rare_errors_are_shown_and_frequent_ones_once() -> None:
    texts = [f"step {number} loss 2.{number}" for number in range(200)]
    texts[100] = "frobnicator: fatal error 7"
    said = shown(rare(case(*texts), (), most=4))
    assert "frobnicator: fatal error 7" in said
    assert len(said) <= 4


def test_lines_keep_the_order_of_the_log() -> None:
    numbers = [
        one.number for one in rare(case("a b c", "fatal error here", "d e f", "it was killed", "g h i"), ())
    ]
    assert numbers == sorted(numbers)


def test_known_lines_are_not_shown() -> None:
    assert shown(rare(case("fatal error here", "it was killed"), {("a.log", 1)})) == ["it was killed"]


def test_the_first_and_the_last_of_a_kind_are_shown() -> None:
    texts = [f"port {number} lost its carrier now" for number in range(50)]
    assert shown(rare(case(*texts), ())) == [texts[0], texts[-1]]


@given(st.lists(st.text(max_size=80), max_size=60), st.integers(0, 30))
def test_any_lines_give_at_most_as_many_as_asked_each_once(texts: list[str], most: int) -> None:
    said = rare(case(*texts), (), most)
    assert len(said) <= most
    assert len({one.number for one in said}) == len(said)
