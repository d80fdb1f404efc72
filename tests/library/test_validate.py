from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.library.cases import CASE

from evenpace.library.validate import Flaw, validate

Change = Callable[[dict[str, Any]], object]


def flaws(folder: Path, change: Change, name: str = "IL-0001.yaml") -> list[Flaw]:
    case = copy.deepcopy(CASE)
    change(case)
    path = folder / name
    path.write_text(yaml.safe_dump(case, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return validate([path])


def test_a_good_file_has_no_flaw(tmp_path: Path) -> None:
    assert flaws(tmp_path, lambda case: None) == []


@pytest.mark.parametrize(
    ("change", "line", "what", "fix"),
    [
        (lambda c: c.update(id="IL-0002"), 1, "the id is IL-0002", "name the file IL-0002.yaml"),
        (lambda c: c.update(year="2024"), 3, "year", "quoted"),
        (lambda c: c.update(verified="known"), 6, "verified", "open the primary source"),
        (
            lambda c: c["terms"].update(cause=["unknwon"]),
            9,
            "unknown cause 'unknwon'",
            "did you mean unknown?",
        ),
        (lambda c: c["terms"].update(symptom=["hang", "hang"]), 14, "hang is listed twice", "delete one"),
        (lambda c: c["terms"].update(component=[]), 10, "no component", "terms component"),
        (lambda c: c["en"].update(titel="x"), 20, "unknown field 'titel'", "did you mean title?"),
        (lambda c: c["ko"].pop("symptom"), 20, "ko.symptom is missing", "write it"),
        (lambda c: c["en"].update(lesson="Look."), 21, "ko.lesson is missing", "translate it"),
        (lambda c: c["ko"].update(symptom="Nothing"), 22, "ko.symptom: no Korean", "language of its block"),
        (lambda c: c["en"].update(symptom="멈춤"), 19, "Korean in the English text", "language of its block"),
        (lambda c: c["en"].update(title="It stopped."), 18, "en.title ends in a period", "delete"),
        (lambda c: c.update(organisation="A, B"), 2, "a comma in the organisation", "use /"),
        (lambda c: c.pop("sources"), 1, "sources is missing", "public report"),
        (lambda c: c.update(terms="hang"), 7, "terms is no mapping", "cause, component"),
        (lambda c: c["en"].update(lesson=None), 20, "en.lesson: nothing is written there", "delete it"),
        (lambda c: c["en"].update(lesson=""), 20, "en.lesson: nothing is written there", "delete it"),
        (
            lambda c: c["en"].update(actions=[None]),
            21,
            "en.actions[0]: nothing is written there",
            "delete it",
        ),
    ],
)
def test_each_flaw_has_its_line_and_its_fix(
    tmp_path: Path, change: Change, line: int, what: str, fix: str
) -> None:
    found = flaws(tmp_path, change)
    assert any(flaw.line == line and what in flaw.what and fix in flaw.fix for flaw in found), found


def test_lists_must_have_the_same_length(tmp_path: Path) -> None:
    def change(case: dict[str, Any]) -> None:
        case["en"]["actions"] = ["One.", "Two."]
        case["ko"]["actions"] = ["하나."]

    (flaw,) = flaws(tmp_path, change)
    assert flaw.what == "2 actions in English, 1 in Korean"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("id: IL-0001\nid: IL-0001\n", 2, "'id' is written twice"),
        ("id: &a x\nb: *a\n", 1, "anchors"),
        ("id: !!python/object:os.system x\n", 1, "tag"),
        ("id: IL-0001\nen: [\n", 3, "not YAML"),
        ("id: IL\x07\n", 1, "U+0007"),
        ('id: IL-0001\nen: {title: "a\\x1b"}\n', 2, "U+001B, written as an escape"),
        ("a: b\nx: \u202egnp\n", 2, "U+202E"),
        ("[" * 30_000, 1, "not YAML"),
        ("just words", 1, "the file is no mapping"),
        ("", 1, "the file is no mapping"),
    ],
)
def test_broken_files_are_explained(tmp_path: Path, text: str, line: int, what: str) -> None:
    path = tmp_path / "IL-0001.yaml"
    path.write_text(text, encoding="utf-8")
    assert any(flaw.line == line and what in flaw.what for flaw in validate([path])), validate([path])


def test_an_id_belongs_to_one_file(tmp_path: Path) -> None:
    for name, also in (("IL-0001.yaml", []), ("IL-0002.yaml", ["IL-0001"])):
        case = CASE | {"id": name[:7], "also": also}
        (tmp_path / name).write_text(yaml.safe_dump(case, allow_unicode=True), encoding="utf-8")
    (flaw,) = validate(sorted(tmp_path.iterdir()))
    assert (flaw.file.name, flaw.what) == ("IL-0002.yaml", "IL-0001 is already used by IL-0001.yaml")


def test_an_unreadable_file_is_a_flaw(tmp_path: Path) -> None:
    (flaw,) = validate([tmp_path / "IL-0001.yaml"])
    assert "cannot read" in flaw.what


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5))
def test_any_value_in_any_place_is_a_flaw_or_fine(
    tmp_path_factory: pytest.TempPathFactory, value: object
) -> None:
    folder = tmp_path_factory.mktemp("any")
    for key in CASE:
        for flaw in flaws(folder, lambda case, key=key: case.update({key: value})):
            assert flaw.line >= 1
