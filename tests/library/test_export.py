from __future__ import annotations

import csv as reader
import io

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.library.cases import incident

from evenpace.library.catalogue import Library
from evenpace.library.export import COLUMNS, csv, jsonl, markdown
from evenpace.library.records import Incident


def test_json_lines_are_the_cases_again(real: Library) -> None:
    lines = list(jsonl(real.incidents))
    assert [msgspec.json.decode(line, type=Incident) for line in lines] == list(real.incidents)
    assert all(line.count("\n") == 1 for line in lines)


@given(st.text(max_size=100))
def test_no_cell_is_a_formula(text: str) -> None:
    one = incident(1, en={"title": f"={text}"[:300], "symptom": f"@{text}"})
    head, row = reader.reader(io.StringIO("".join(csv([one], "en")), newline=""))
    assert tuple(head) == COLUMNS
    assert not any(cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)


def test_markdown_has_every_heading_and_no_markup_of_the_texts() -> None:
    one = incident(
        1, en={"title": "# <b>x</b>", "symptom": "[link](javascript:x) `code`", "actions": ["- One."]}
    )
    page = markdown(one, "en")
    assert page.count("The report does not say.") >= 4
    assert "<b>" not in page
    assert "[link](" not in page
    assert "`code`" in page
    assert "보고서에 나오지 않음." in markdown(one, "ko")
