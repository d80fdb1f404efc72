"""Errors as JSON: whose they are and what they say, also where the JSON is broken or cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats.json_errors import identify, reports, unescape
from evenpace.diagnose.lines import read_lines

WHOLE = """\
job-a trainer-31 restart 2 fails: {
  "250": {
    "local_rank": 2,
    "exitcode": 1,
    "message": {
      "message": "KeyError: 'labels'\\nsecond line",
      "extraInfo": {
        "py_callstack": "Traceback (most recent call last):\\n  File \\"/srv/a.py\\", line 3, in f\\n"
      }
    }
  },
  "251": {
    "local_rank": 3,
    "exitcode": -6,
    "message": {"message": "RuntimeError: {braces \\" and quotes"}
  }
}
"""


def test_each_rank_of_a_report_is_told_with_its_host() -> None:
    first, second = reports(read_lines("a.log", WHOLE))
    assert (first.who.rank, first.who.local_rank, first.who.host, first.code) == (250, 2, "trainer-31", 1)
    assert (second.who.rank, second.who.host, second.code) == (251, "trainer-31", -6)
    assert [line.text for line in first.messages][:2] == ["KeyError: 'labels'", "second line"]
    assert '  File "/srv/a.py", line 3, in f' in [line.text for line in first.messages]
    assert second.messages[0].text == 'RuntimeError: {braces " and quotes'


@pytest.mark.parametrize("lines", [4, 6, 8, 9, 12])
def test_cut_report_keeps_its_first_rank(lines: int) -> None:
    first = reports(read_lines("a.log", "\n".join(WHOLE.split("\n")[:lines])))[0]
    assert (first.who.rank, first.who.host) == (250, "trainer-31")


def test_error_file_in_one_line() -> None:
    text = json.dumps(
        {"message": {"message": "ValueError: x", "extraInfo": {"rank": 4, "py_callstack": "a\nb"}}}
    )
    (found,) = reports(read_lines("a.log", text))
    assert found.who.rank == 4
    assert [line.text for line in found.messages] == ["ValueError: x", "a", "b"]


def test_lines_of_a_report_are_about_its_process() -> None:
    lines = identify(read_lines("a.log", WHOLE))
    assert next(line for line in lines if "KeyError" in line.text).printer.rank == 250
    assert next(line for line in lines if "braces" in line.text).printer.local_rank == 3


def test_text_after_a_report_is_not_part_of_it() -> None:
    lines = identify(read_lines("a.log", WHOLE + "RuntimeError: another\n"))
    assert not lines[-1].printer


@given(st.text(max_size=200))
def test_escapes_of_json_are_undone(text: str) -> None:
    inside = json.dumps(text, ensure_ascii=False)[1:-1]
    if "\\u" not in inside and "\\b" not in inside and "\\f" not in inside and "\r" not in text:
        assert unescape(inside) == text


@given(st.lists(st.sampled_from(WHOLE.split("\n")) | st.text(max_size=30), max_size=60))
def test_any_text_is_read_without_an_exception(pieces: list[str]) -> None:
    lines = read_lines("a.log", "\n".join(pieces))
    assert len(identify(lines)) == len(lines)
    assert len(reports(lines)) <= 2 * len(lines)
