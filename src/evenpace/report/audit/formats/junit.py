"""The audit as JUnit XML, for CI servers: a suite a cluster, a test case a check."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from evenpace.checks.running import Result
from evenpace.checks.telling import reason
from evenpace.collect.snapshot import Snapshot
from evenpace.findings import Outcome
from evenpace.report.audit import Audit
from evenpace.report.audit.groups import Group, groups
from evenpace.report.audit.suppressions import Suppression
from evenpace.terms import say
from evenpace.terms.spelling import clean, line

MOST_SUBJECTS = 50  # of a check that are written out


def render(audit: Audit) -> Iterator[str]:
    """Yield the audit as XML: gaps that count are failures, what could not be decided is skipped."""
    root = Element("testsuites", name="evenpace audit")
    failing = {group.check.id: group for group in groups(audit)}
    for snapshot in audit.snapshots:
        mine = [(number, one) for number, one in enumerate(audit.results) if one.snapshot is snapshot]
        suite = _suite(root, snapshot)
        for number, result in mine:
            _case(suite, audit, number, failing.get(result.check.id))
        _count(suite)
    _total(root)
    indent(root)
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(root: Element, snapshot: Snapshot) -> Element:
    taken = snapshot.taken.strftime("%Y-%m-%dT%H:%M:%S")
    suite = SubElement(root, "testsuite", name=f"evenpace.{snapshot.family}", timestamp=taken)
    kept = SubElement(suite, "properties")
    for name, value in (("source", snapshot.source), ("version", snapshot.version)):
        if value:
            SubElement(kept, "property", name=name, value=line(value))
    return suite


def _case(suite: Element, audit: Audit, number: int, group: Group | None) -> None:
    result = audit.results[number]
    case = SubElement(suite, "testcase", classname=f"evenpace.{result.check.family}", name=result.check.id)
    if group:
        subjects = say("audit-subjects", audit.lang, count=group.count)
        message = f"{group.severity_label}, {group.fault}: {subjects}"
        failure = SubElement(case, "failure", type=group.severity, message=message)
        failure.text = "\n".join(_told(group, audit.lang))
    elif result.outcome is Outcome.ERROR:
        SubElement(case, "error", type="error", message=reason(result, audit.lang))
    elif result.outcome is Outcome.FAIL:
        SubElement(case, "skipped", message=_aside(audit, number))
    elif result.outcome is not Outcome.PASS:
        SubElement(case, "skipped", message=f"{_outcome(result, audit.lang)}: {reason(result, audit.lang)}")


def _outcome(result: Result, lang: str) -> str:
    return say(f"audit-outcome-{result.outcome.value}", lang)


def _aside(audit: Audit, number: int) -> str:
    """Say why a gap does not count: the suppressions that cover it, or the baseline."""
    places = [place for place, of in enumerate(audit.of) if of == number]
    covering = dict.fromkeys(audit.suppressed[place] for place in places if place in audit.suppressed)
    told = [_decision(one) for one in covering]
    return "; ".join(told + [say("audit-in-baseline", audit.lang)] * any(p in audit.known for p in places))


def _decision(one: Suppression) -> str:
    return f"{line(one.reason)} ({one.expires})"


def _told(group: Group, lang: str) -> list[str]:
    """Return a failure's text: each subject with its evidence, then why it matters and what to do."""
    told = []
    for item in group.items[:MOST_SUBJECTS]:
        told += [item.sentence, *(f"  {clean(one)}" for one in (*item.facts, *item.evidence))]
    if more := group.count - len(group.items[:MOST_SUBJECTS]):
        told.append(say("audit-unlisted", lang, count=more))
    told += ["", group.why, ""]
    for number, step in enumerate(group.steps, 1):
        told += [f"{number}. {step.text}", *(f"   $ {command}" for command in step.commands)]
    return told


def _count(suite: Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))


def _total(root: Element) -> None:
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
