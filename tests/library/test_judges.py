from __future__ import annotations

from tests.library.cases import incident

from evenpace.library.catalogue import Library
from evenpace.library.judges import all_judges, judge_of, judges, judges_of
from evenpace.terms import facets


def test_judges_name_known_faults_and_terms() -> None:
    known = facets()
    for judge in all_judges():
        assert judge.slug in known["fault"]
        assert {facet for facet, slugs in judge.terms.items() if set(slugs) - set(known[facet])} == set()
        assert judge.label("ko") != judge.label("en")
        assert judge.definition("ko") != judge.definition("en")


def test_every_facet_that_a_judge_lists_must_be_met() -> None:
    stuck = incident(1, terms={"symptom": ["hang"], "component": ["dataloader"]})
    assert [judge.slug for judge in judges(stuck)] == ["non-communication-hang"]
    assert judges(incident(1, terms={"symptom": ["loss-spike"]})) == ()
    assert judges(incident(1, scope="k8s", terms={"symptom": ["hang"], "component": ["dataloader"]})) == ()


def test_judges_are_found_by_term_and_by_fault() -> None:
    assert "non-communication-slow" in [judge.slug for judge in judges_of("symptom", "straggler")]
    assert judge_of("numerics") is None


def test_each_judge_would_have_caught_a_real_case(real: Library) -> None:
    caught = {judge.slug for one in real.incidents for judge in judges(one)}
    assert caught == {judge.slug for judge in all_judges()}
