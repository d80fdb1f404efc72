from __future__ import annotations

from collections.abc import Callable
from xml.etree.ElementTree import Element, fromstring

import pytest
from tests.report.audit.made import (
    RESTARTS,
    aside,
    audit,
    clean,
    failed,
    gap,
    hostile,
    job,
    rendered,
    suppression,
)

from evenpace.report.audit import Audit
from evenpace.report.audit.suppressions import Suppressions

# What the schema of Jenkins' JUnit plug-in asks of the parts that we write.
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped"},
    "testsuite": {"name", "timestamp", "tests", "failures", "errors", "skipped"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"classname", "name"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"message"},
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "testcase": {"failure", "error", "skipped"},
}


def parsed(said: Audit) -> Element:
    root = fromstring(rendered(said, "junit").encode())  # noqa: S314  our own
    assert root.tag == "testsuites"
    for one in root.iter():
        assert set(one.attrib) == ATTRIBUTES[one.tag]
        assert {child.tag for child in one} <= CHILDREN.get(one.tag, set())
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[name]) == sum(case.find(tag) is not None for case in cases)
        assert all(len(case) <= 1 for case in cases)
    assert int(root.attrib["tests"]) == len(said.results)
    return root


def cases(said: Audit) -> dict[str, Element]:
    return {case.attrib["name"]: case for case in parsed(said).iter("testcase")}


def test_a_suite_a_cluster_and_a_case_a_check() -> None:
    root = parsed(audit())
    assert [suite.attrib["name"] for suite in root] == ["evenpace.kubernetes", "evenpace.slurm"]
    assert root[0].attrib["timestamp"] == "2026-11-29T12:00:00"
    told = cases(audit())
    failure = told["no_restarts"][0]
    assert failure.attrib == {"type": "critical", "message": "critical, Restart gap: subjects 6"}
    assert "Job train-5 in ml never starts again.\n  Job/ml/train-5  null\n" in (failure.text or "")
    assert "$ kubectl get job train-0 -n ml -o yaml" in (failure.text or "")
    assert told["quiet"][0].attrib["message"] == "no data: list pods: forbidden"
    assert told["no_prolog"][0].tag == "error"


def test_what_passes_is_an_empty_case() -> None:
    told = cases(clean())
    assert len(told["no_restarts"]) == 0
    assert told["quiet"][0].tag == "skipped"


def test_what_does_not_count_is_skipped_with_its_reason() -> None:
    told = cases(aside())
    assert told["driver_apart"][0].attrib["message"] == "known from the baseline"
    assert told["no_restarts"][0].attrib["message"] == "critical, Restart gap: subjects 2"
    covered = audit("en", [failed(RESTARTS, gap(job("a")))], Suppressions((suppression("*"),)))
    assert cases(covered)["no_restarts"][0].attrib["message"] == "Started by hand. (2027-03-31)"


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_golden(golden: Callable[[str, str], None], lang: str) -> None:
    golden(f"audit-{lang}.xml", rendered(audit(lang), "junit"))


def test_hostile_clusters_make_valid_xml(trick: str) -> None:
    parsed(hostile(trick))
