from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console
from tests.report.answer.made import XID, answer, found, hostile, nothing

from evenpace.findings import Evidence, Subject
from evenpace.report.answer import Answer
from evenpace.report.answer.text import closing, middle_out, print_answer, size
from evenpace.report.words import who


def printed(said: Answer, width: int = 100) -> str:
    page = io.StringIO()
    print_answer(said, Console(file=page, width=width, highlight=False))
    return page.getvalue()


@pytest.mark.parametrize(("lang", "width"), [("en", 60), ("en", 120), ("ko", 60)])
def test_golden(golden: Callable[[str, str], None], lang: str, width: int) -> None:
    golden(f"answer-{lang}-{width}.txt", printed(answer(lang), width))


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("width", [60, 120])
def test_only_commands_are_wider_than_the_terminal_and_nothing_is_padded(lang: str, width: int) -> None:
    said = answer(lang)
    commands = [step.command for step in said.findings[0].advice]
    for row in printed(said, width).split("\n"):
        assert row == row.rstrip()
        assert cell_len(row) <= width or row.strip() in commands


def test_what_to_do_comes_before_the_proof_and_the_proof_before_the_victims() -> None:
    page = printed(answer())
    order = [
        "node7",
        "fell off",
        "What to do now",
        "sbatch",
        "Evidence",
        "NVRM",
        "Victims",
        "Missing",
        "IL-0001",
    ]
    places = [page.index(word) for word in order]
    assert places == sorted(places)


def test_a_command_is_one_line_of_its_own_at_any_width() -> None:
    command = found().advice[0].command
    assert command in [row.strip() for row in printed(answer(), 24).split("\n")]


def test_nothing_found_shows_what_stands_out_and_where() -> None:
    page = printed(nothing())
    assert page.startswith("Nothing found")
    assert "a.log\n" in page
    assert "3 warning: slow" in page


def test_further_findings_are_set_apart() -> None:
    two = replace(answer(), findings=(found(), found()))
    assert printed(two).count("Further, independent findings") == 1


def test_the_first_lines_of_many_are_shown_and_the_rest_counted() -> None:
    lines = tuple(Evidence("a.log", number, f"{XID} {number}") for number in range(1, 31))
    page = printed(replace(answer(), findings=(replace(found(), evidence=lines),)))
    assert page.count("NVRM") == 8
    assert "22 more" in page


def test_an_unexplained_failure_shows_more_lines() -> None:
    lines = tuple(Evidence("a.log", number, f"{XID} {number}") for number in range(1, 31))
    unknown = replace(found(), evidence=lines, subject=Subject(kind="job"))
    assert printed(replace(answer(), findings=(unknown,))).count("NVRM") == 16


def test_a_number_is_shown_beside_what_was_expected() -> None:
    slow = replace(
        found(), evidence=(Evidence("a.log", metric="tokens-per-second", value=9000.0, expected=13500.0),)
    )
    assert "tokens-per-second 9000" in printed(replace(answer(), findings=(slow,)))


def test_logs_do_not_steer_the_terminal(trick: str) -> None:
    page = printed(hostile(trick), 80)
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2028"} & set(page)
    page.encode()  # no lone surrogate
    if trick == "[red]markup[/red]":
        assert trick in page


def test_a_long_line_keeps_its_two_ends() -> None:
    shown = middle_out("a" * 5000 + "z")
    assert len(shown) < 450
    assert shown[0] == "a"
    assert shown[-1] == "z"
    assert middle_out("short") == "short"


def test_what_was_left_out_is_told_with_three_names() -> None:
    said = replace(nothing(), skipped={"binary": ["a", "b", "c", "d"], "empty": ["e"]})
    assert closing(said)[1:] == ["Left out, not text: 4 (a, b, c, …)", "Empty: 1 (e)"]


@pytest.mark.parametrize("reason", ["binary", "empty", "unreadable", "damaged", "too-many"])
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_every_reason_has_its_words(reason: str, lang: str) -> None:
    assert len(closing(replace(nothing(lang), skipped={reason: ["x"]}))) == 2


def test_somebody_known_by_the_local_rank_only_is_not_the_whole_job() -> None:
    assert who(Subject(kind="rank", local_rank=5), "en") == "local rank 5"
    assert who(Subject(kind="rank", local_rank=5, node="n1"), "en") == "local rank 5 on n1"
    assert who(Subject(kind="rank", rank=13, local_rank=5), "en") == "rank 13"


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (999_600, "1,000 kB"),
        (4_330, "4.33 kB"),
        (12.3e9, "12.3 GB"),
        (5e12, "5,000 GB"),
    ],
)
def test_sizes(count: float, shown: str) -> None:
    assert size(count) == shown


def test_of_very_many_findings_the_later_are_brief() -> None:
    page = printed(replace(answer(), findings=(found(),) * 9))
    assert page.count("fell off the bus (Xid 79)") == 9
    assert page.count("sbatch --exclude") == 6
