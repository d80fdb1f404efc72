from __future__ import annotations

from pathlib import Path

import yaml
from hypothesis import given
from hypothesis import strategies as st

from evenpace.library.scaffold import scaffold
from evenpace.library.validate import validate

FIELDS = {
    "id": "IL-0001",
    "organisation": "Example",
    "year": 2024,
    "scope": "training",
    "kind": "incident",
    "verified": "opened",
    "url": "https://example.org/x",
    "source_title": "Example: a report",
    "title": "A job stopped",
    "symptom_text": "Nothing moved: not even the log",
    "cause": ["unknown"],
    "component": ["nccl"],
    "symptom": ["hang"],
    "factor": [],
}
PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=300)


def test_a_new_case_lacks_only_its_korean(tmp_path: Path) -> None:
    path = tmp_path / "IL-0001.yaml"
    path.write_text(scaffold(FIELDS), encoding="utf-8")
    flaws = validate([path])
    assert {flaw.what.split(":")[0] for flaw in flaws} == {"ko.title", "ko.symptom"}


def test_what_the_report_may_not_say_is_a_comment() -> None:
    text = scaffold(FIELDS)
    assert "# lesson" in text
    assert set(yaml.safe_load(text)["en"]) == {"title", "symptom"}


@given(PRINTABLE, PRINTABLE)
def test_any_printable_text_survives(title: str, symptom: str) -> None:
    loaded = yaml.safe_load(scaffold(FIELDS | {"title": title, "symptom_text": symptom}))
    assert [loaded["en"]["title"], loaded["en"]["symptom"]] == [title, symptom]
