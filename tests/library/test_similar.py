from __future__ import annotations

from tests.library.cases import incident

from evenpace.findings import Evidence, Finding, Severity, Subject, Terms
from evenpace.library.catalogue import Library
from evenpace.library.similar import for_finding, links, similar


def finding(fault: str = "unexplained-failure", terms: Terms = Terms(), text: str = "") -> Finding:  # noqa: B008
    evidence = (Evidence("log", text=text),) if text else ()
    return Finding(
        fault, Severity.CRITICAL, 0.9, Subject("rank", rank=3), "s", terms=terms, evidence=evidence
    )


def test_rare_shared_terms_count_most() -> None:
    rare = {"symptom": ["link-flap"], "component": ["nccl"]}
    library = Library([incident(1, terms=rare), incident(2, terms=rare), *(incident(n) for n in range(3, 9))])
    near = similar(library, library.get("IL-0001"))
    assert near[0].incident.id == "IL-0002"
    assert near[0].score == 1.0
    assert near[0].shared[0].slug == "link-flap"
    assert "IL-0001" not in [one.incident.id for one in near]


def test_a_finding_leads_to_cases_with_the_reason() -> None:
    cases = [
        incident(1, terms={"symptom": ["hang"], "component": ["dataloader"]}),
        incident(2, terms={"symptom": ["oom"]}),
    ]
    near = for_finding(Library(cases), finding("non-communication-hang", Terms(symptom=("hang",))))
    assert [one.incident.id for one in near] == ["IL-0001"]
    assert near[0].why("ko") == "작업 멈춤(hang), 데이터로더"


def test_words_of_the_evidence_count() -> None:
    cases = [incident(1, terms={"symptom": ["loss-spike"], "component": ["dataset"]}), incident(2)]
    near = for_finding(Library(cases), finding(text="loss spike in training data at step 7"))
    assert [one.incident.id for one in near] == ["IL-0001"]


def test_one_shared_term_is_not_enough(real: Library) -> None:
    assert for_finding(real, finding(terms=Terms(symptom=("hang",)))) == ()
    assert for_finding(real, finding()) == ()


def test_links_carry_title_and_reason_in_the_language(real: Library) -> None:
    found = links(real, finding("communication-hang", Terms(symptom=("hang",))), "ko")
    assert found
    assert all(real.get(link.id).ko.title in link.why for link in found)
