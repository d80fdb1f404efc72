from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenpace
from evenpace.findings import Evidence
from evenpace.report.measures import measured, number, quoted, source
from evenpace.report.words import evidence
from evenpace.terms import phrases

SPEAKING = (
    "watch/*.py",
    "simulate/finding.py",
    "detect/attribution.py",
    "detect/fromstart.py",
    "detect/growth.py",
)


@pytest.mark.parametrize(
    ("item", "english", "korean"),
    [
        (
            Evidence("iterations", metric="seconds an iteration lost", value=0.1201),
            "iterations  lost in each iteration 120 ms",
            "iteration 기록  iteration당 손실 120 ms",
        ),
        (
            Evidence("iterations", metric="median growth of waiting", value=-0.012),
            "iterations  waiting grew in each iteration by (median of ranks) -12 ms",
            "iteration 기록  iteration당 대기 시간 증가(rank 중앙값) -12 ms",
        ),
        (
            Evidence(
                "process 7 (rank 1)", metric="share of time: waited for a CPU", value=0.5, expected=0.021
            ),
            "process 7 (rank 1)  waited for a CPU, share of time 50% (expected 2%)",
            "프로세스 7(rank 1)  CPU를 기다린 시간 비율 50%(기대값 2%)",
        ),
        (
            Evidence("rank 3 ring", metric="operation at sequence 12", value="send", expected="recv"),
            "rank 3 ring  operation at sequence 12 send (expected recv)",
            "rank 3 ring  순번 12의 연산 send(기대값 recv)",
        ),
        (
            Evidence("t.csv", metric="2 -> 6: time to its peers' median", value=1.5, expected=1.0),
            "t.csv  2 -> 6: time to its peers' median 1.50x (expected 1.00x)",
            "t.csv  2 -> 6: 다른 worker 중앙값 대비 시간 1.50x(기대값 1.00x)",
        ),
        (
            Evidence("wait-for graph", text="rank 1 waits for rank 0 in all_reduce 12"),
            "wait-for graph  rank 1 waits for rank 0 in all_reduce 12",
            "대기 관계  rank 1: all_reduce 12에서 rank 0 대기",
        ),
        (
            Evidence("rank 3 exception", text="ValueError: no"),
            "rank 3 exception  ValueError: no",
            "rank 3 예외  ValueError: no",
        ),
    ],
)
def test_names_and_units_in_both_languages(item: Evidence, english: str, korean: str) -> None:
    assert evidence(item, "en") == english
    assert evidence(item, "ko") == korean


def test_what_is_not_known_is_shown_as_it_is() -> None:
    assert measured(Evidence("ring", metric="busy", value=0.123456, expected=0.1), "ko") == (
        "busy 0.1235(기대값 0.1)"
    )
    assert source(Evidence("a.log", line=3, text="x"), "ko") == "a.log:3"
    assert quoted(Evidence("a.log", text="rank 1 waits for rank 0 in all_reduce 12"), "ko").startswith(
        "rank 1 waits"
    )
    assert number(-0.0) == "0"


def test_a_name_from_elsewhere_cannot_steer_a_terminal() -> None:
    shown = measured(Evidence("x", metric="\x1b[2J{0}: time to its peers' median", value=1.0), "en")
    assert "\x1b" not in shown
    assert "{0}" in shown


def test_values_of_another_kind_than_expected_are_shown() -> None:
    assert measured(Evidence("x", metric="seconds an iteration lost", value="soon"), "en").endswith(" soon")
    assert measured(Evidence("x", metric="dominance", value=None), "en").endswith(" ")
    assert measured(Evidence("x", metric="dominance", value=1), "en").endswith(" 100%")


def said() -> Iterator[str]:
    """Yield the names of evidence that the source writes as they are."""
    home = Path(evenpace.__file__).parent
    for path in (path for pattern in SPEAKING for path in home.glob(pattern)):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "metric":
                yield from constants(node.value)
            elif path.parent.name == "detect" and isinstance(node, ast.Dict):
                yield from (text for key in node.keys if key for text in constants(key))


def constants(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def test_every_name_that_a_judge_writes_has_a_phrase() -> None:
    names = set(said())
    assert "seconds an iteration lost" in names
    korean = {name: measured(Evidence("x", metric=name, value=1.0), "ko") for name in names}
    assert [name for name, text in korean.items() if text.startswith(name)] == []


def test_every_phrase_of_evidence_is_used() -> None:
    text = Path(evenpace.__file__).parent.joinpath("report", "measures.py").read_text("utf-8")
    assert [key for key in phrases() if key.startswith("evidence-") and f'"{key}"' not in text] == []
