"""Lines that a terminal cut are joined; lines that only have the same length are not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats.wraps import join

LONG = (
    "[rank3]:[E711 02:48:16.305518220 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective"
    " operation timeout:"
    " WorkNCCL(SeqNum=418803, OpType=BROADCAST, NumelIn=7077888, Timeout(ms)=1800000) ran for 1800031"
    " milliseconds."
)
ITERATION = (
    "[default3]: iteration {:8}/  104200 | elapsed time per iteration (s): 94.32 |"
    " learning rate: 5.020E-05 | lm loss: 2.2"
)


def wrapped(lines: list[str], width: int, pad: bool = False) -> list[str]:
    cut = [line[at : at + width] for line in lines for at in range(0, len(line), width)]
    return [line.ljust(width) for line in cut] if pad else cut


def texts(lines: list[str]) -> list[str]:
    return [line.rstrip() for _, line in join(lines, 1)]


def test_cut_lines_are_joined_with_the_number_of_the_first() -> None:
    lines = ["start", LONG, ITERATION.format(1), LONG.replace("rank3", "rank11"), "end"]
    joined = join(wrapped(lines, 100), 10)
    assert [line for _, line in joined] == lines
    assert [number for number, _ in joined] == [10, 11, 14, 16, 19]


def test_padded_lines_are_joined() -> None:
    lines = ["start", LONG, "INFO: saved", LONG.replace("rank3", "rank11"), "INFO: end"]
    assert texts(wrapped(lines, 100, pad=True)) == lines


def test_rows_of_one_length_are_not_joined() -> None:
    rows = [ITERATION.format(n) for n in range(20)]
    assert texts(rows) == rows
    rows = [line for n in range(5) for line in (ITERATION.format(n), "time (ms)")]
    assert texts(rows) == rows


def test_banners_and_tables_are_not_joined() -> None:
    lines = [
        "=" * 80,
        "train.py FAILED",
        "-" * 80,
        "failures:",
        "=" * 80,
        "root cause",
        "*" * 80,
        "setting threads",
    ]
    assert texts(lines) == lines
    table = [
        "+" + "-" * 78 + "+",
        "| GPU  Name" + " " * 68 + "|",
        "|" + "=" * 78 + "|",
        "processes",
        "| 0" + " " * 76 + "|",
    ]
    assert texts(table) == table


def test_one_long_line_is_no_wrap() -> None:
    lines = [LONG[:120], "and something else", "more"]
    assert texts(lines) == lines


@given(st.lists(st.text(alphabet="ab =-|[]:\r학", max_size=90), max_size=30))
def test_any_lines_keep_their_text(lines: list[str]) -> None:
    joined = join(lines, 1)
    assert "".join(line for _, line in joined).replace(" ", "") == "".join(lines).replace(" ", "")
    numbers = [number for number, _ in joined]
    assert numbers == sorted(set(numbers))
