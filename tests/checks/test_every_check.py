"""Every check is whole: fixtures for its outcomes, both languages, a page, an incident or a document."""

from __future__ import annotations

import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenpace.checks.catalogue import Check, checks
from evenpace.checks.running import Result, run
from evenpace.checks.telling import finding, reason
from evenpace.collect.kubernetes.kinds import KINDS
from evenpace.collect.saved import read
from evenpace.collect.slurm.model import TYPES
from evenpace.findings import Outcome, Terms
from evenpace.library.catalogue import Library
from evenpace.terms import LANGUAGES, facets

CHECKS = list(checks().values())
KNOWN = {"kubernetes": set(KINDS), "slurm": set(TYPES)}
# The beginning of a fixture's name is the outcome that it must give.
OUTCOMES = {outcome.value.replace("-", "_"): outcome for outcome in Outcome}
FIXTURES = [(check, path) for check in CHECKS for path in sorted((check.folder / "fixtures").iterdir())]
MOST_LINES = 80  # of a check.py; aim at 50


def fixture_id(value: object) -> str:
    return value.id if isinstance(value, Check) else Path(str(value)).name


def wanted(path: Path) -> Outcome:
    return next(outcome for name, outcome in OUTCOMES.items() if path.name.startswith(name))


def results(check: Check, outcome: Outcome) -> Iterator[Result]:
    for path in sorted((check.folder / "fixtures").iterdir()):
        if wanted(path) is outcome:
            yield run(check, read(path))


@pytest.mark.parametrize(("check", "path"), FIXTURES, ids=fixture_id)
def test_fixture_gives_the_outcome_of_its_name(check: Check, path: Path) -> None:
    result = run(check, read(path))
    assert (result.outcome, result.error) == (wanted(path), "")


@pytest.mark.parametrize("check", CHECKS, ids=fixture_id)
def test_check_passes_and_fails(check: Check) -> None:
    assert list(results(check, Outcome.PASS))
    assert list(results(check, Outcome.FAIL))


@pytest.mark.parametrize("check", CHECKS, ids=fixture_id)
def test_check_without_facts_says_what_is_missing(check: Check) -> None:
    """With nothing read at all there is no verdict, and the reason names what was not read."""
    path = next(path for _, path in FIXTURES if path.parent.parent == check.folder)
    snapshot = read(path)
    nothing = run(check, type(snapshot)(snapshot.family, "", snapshot.taken, {}))
    assert nothing.outcome is Outcome.NO_DATA
    assert all(reason(nothing, lang) for lang in LANGUAGES)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("check", CHECKS, ids=fixture_id)
def test_findings_are_filled_in(check: Check, lang: str) -> None:
    for result in results(check, Outcome.FAIL):
        for gap in result.gaps:
            found = finding(check, gap, lang)
            assert found.evidence
            assert "<" not in found.summary
            assert [step.command for step in found.advice if step.command and "<" in step.command] == []


@pytest.mark.parametrize("check", CHECKS, ids=fixture_id)
def test_texts_are_there_in_both_languages(check: Check) -> None:
    content = check.content
    pairs = [(text.en, text.ko) for text in (content.title, content.why, content.gap, content.unsure) if text]
    pairs += [(one.en, one.ko) for one in (*content.advice, *content.incident)]
    for en, ko in pairs:
        assert en.strip()
        assert any("가" <= letter <= "힣" for letter in ko)
        assert names(en) == names(ko)
    assert content.advice


def names(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


@pytest.mark.parametrize("check", CHECKS, ids=fixture_id)
def test_terms_and_kinds_are_known(check: Check) -> None:
    known = facets()
    assert check.content.fault in known["fault"]
    for facet in Terms.__dataclass_fields__:
        assert set(getattr(check.content.terms, facet)) <= set(known[facet])
    assert check.kinds
    assert set(check.kinds) <= KNOWN[check.family]


@pytest.mark.parametrize("check", CHECKS, ids=fixture_id)
def test_something_public_stands_behind_it(check: Check, library: Library) -> None:
    assert check.content.incident or check.content.document
    assert [one.id for one in check.content.incident if library.get(one.id).id != one.id] == []


@pytest.mark.parametrize("check", CHECKS, ids=fixture_id)
def test_check_has_a_page(check: Check, repository: Path) -> None:
    page = repository / "docs" / "reference" / "checks" / check.family / f"{check.id}.md"
    assert page.read_text("utf-8").count(check.id) >= 1


@pytest.mark.parametrize("check", CHECKS, ids=fixture_id)
def test_check_is_short_and_a_package(check: Check) -> None:
    assert len((check.folder / "check.py").read_text("utf-8").splitlines()) <= MOST_LINES
    assert (check.folder / "__init__.py").exists()


@pytest.fixture(scope="module")
def library() -> Library:
    return Library.open()
