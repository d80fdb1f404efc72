"""The catalogue is complete, in both languages, and leads to known terms, actions and signatures."""

from __future__ import annotations

from collections import Counter

import pytest

from evenpace.diagnose import catalogue
from evenpace.diagnose.catalogue import Code
from evenpace.terms import facets

ALL = [code for of in catalogue.codes().values() for code in of]
# Every code of NVIDIA's Xid catalogue that is in use.
XIDS = (
    *(8, 11, 13, 25, 31, 32, 37, 38, 39, 40, 41, 43, 44, 45, 46, 48, 54, 60, 62, 63, 64, 66, 67, 68, 69, 70),
    *(71, 72, 74, 75, 76, 77, 78, 79, 80, 82, 83, 84, 85, 86, 88, 89, 92, 93, 94, 95, *range(96, 108), 109),
    *(110, 119, 120, 121, *range(126, 138), *range(139, 173)),
)


@pytest.mark.parametrize("code", ALL, ids=lambda code: code.key)
def test_a_code_is_complete(code: Code) -> None:
    assert code.title
    assert code.number is not None or code.names
    assert code.meaning.en.strip()
    assert any("가" <= letter <= "힣" for letter in code.meaning.ko)
    assert code.action in catalogue.actions()
    assert "{" not in code.meaning.en + code.meaning.ko
    assert code.sources
    known = facets()
    for facet in ("symptom", "component", "cause", "factor"):
        assert [slug for slug in getattr(code.terms, facet) if slug not in known[facet]] == []


def test_a_code_is_there_once() -> None:
    assert [key for key, count in Counter(code.key for code in ALL).items() if count > 1] == []


def test_every_xid_in_use_is_explained() -> None:
    assert [number for number in XIDS if catalogue.of_number("xid", number) is None] == []


def test_actions_are_used_and_in_both_languages() -> None:
    assert {code.action for code in ALL} == set(catalogue.actions())
    for step in catalogue.actions().values():
        assert step.en
        assert any("가" <= letter <= "힣" for letter in step.ko)
        assert "{" not in (step.command or "")


def test_names_are_found_in_any_case() -> None:
    assert catalogue.of_name("NCCLsystemERROR")[0].number == 2
    assert catalogue.of_name("no_such_name") == ()
