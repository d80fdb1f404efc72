"""An audit ready to be shown: the gaps that count by their check, then all that is to be said beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from evenpace.checks.catalogue import Check
from evenpace.checks.telling import reason, unread_line
from evenpace.collect.snapshot import Unread, Why
from evenpace.findings import Finding, Outcome, Severity
from evenpace.report.audit import Audit
from evenpace.report.audit.naming import names
from evenpace.report.words import date, evidence, fault
from evenpace.terms import say
from evenpace.terms.bilingual import Text
from evenpace.terms.spelling import clean, line, percent
from evenpace.watch.events import seconds

MOST_COMMANDS = 3  # of a step, where each subject has its own
MOST_NAMES = 12  # that stand in a row
MOST_EVIDENCE = 6  # of a subject


@dataclass(frozen=True, slots=True)
class Item:
    """One gap: whom it is about, the sentence, and what was read."""

    who: str
    sentence: str
    evidence: list[str]
    facts: list[str]  # since when, how sure where that is not certain


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of advice, with the exact commands for the first subjects."""

    text: str
    commands: list[str]


@dataclass(frozen=True, slots=True)
class Group:
    """The gaps of one check that count; `unlisted` is how many more there are than `items`."""

    check: Check
    severity: str
    severity_label: str
    fault: str
    title: str
    why: str
    items: list[Item]
    unlisted: int
    steps: list[Step]
    incidents: list[tuple[str, str]]
    documents: list[tuple[str, str]]  # title, address

    @property
    def count(self) -> int:
        """Return the number of gaps."""
        return len(self.items) + self.unlisted


def groups(audit: Audit) -> list[Group]:
    """Return the checks with gaps that count, the worst first."""
    counting = {
        number: [audit.findings[place] for place in places]
        for number, places in groupby(audit.counting(), key=lambda place: audit.of[place])
    }
    rank = list(Severity)
    worst = {number: rank.index(audit.results[number].check.content.severity) for number in audit.failing()}
    order = sorted(worst, key=lambda number: (worst[number], number))
    return [_group(audit, number, counting.get(number, [])) for number in order]


def _group(audit: Audit, number: int, found: Sequence[Finding]) -> Group:
    lang, check = audit.lang, audit.results[number].check
    content = check.content
    return Group(
        check,
        content.severity.value,
        say(f"report-severity-{content.severity.value}", lang),
        fault(content.fault, lang),
        line(content.title.say(lang, {})),
        " ".join(content.why.say(lang, {}).split()),
        [_item(one, lang) for one in found],
        audit.unlisted(number),
        _steps(check, found, lang),
        [(one.id, line(one.ko if lang == "ko" else one.en)) for one in content.incident],
        [(line(one.title), line(one.url)) for one in content.document],
    )


def _item(found: Finding, lang: str) -> Item:
    quoted = [evidence(one, lang) for one in found.evidence[:MOST_EVIDENCE]]
    if (more := len(found.evidence) - MOST_EVIDENCE) > 0:
        quoted.append(say("report-more-evidence", lang, count=more))
    facts = [say("audit-since", lang, when=date(seconds(found.since)))] if found.since else []
    if found.confidence < 1:
        facts.append(f"{say('report-confidence', lang)} {percent(found.confidence)}")
    return Item(shortened(names(found.subject), lang), line(found.summary), quoted, facts)


def _steps(check: Check, found: Sequence[Finding], lang: str) -> list[Step]:
    """Return the advice once for all subjects: a text that differs between them names no subject."""
    steps = []
    for number, step in enumerate(check.content.advice):
        own = [one.advice[number] for one in found]
        texts = {one.text for one in own}
        text = texts.pop() if len(texts) == 1 else Text(step.en, step.ko).say(lang, {})
        commands = dict.fromkeys(one.command for one in own if one.command)
        steps.append(Step(line(text), [clean(one) for one in list(commands)[:MOST_COMMANDS]]))
    return steps


def shortened(listed: Iterable[str], lang: str, most: int = MOST_NAMES) -> str:
    """Return names in a row, the first `most` of them, and how many there are besides."""
    every = [line(name) for name in listed]
    shown = ", ".join(every[:most])
    return say("audit-and-more", lang, names=shown, count=len(every) - most) if len(every) > most else shown


def verdict(audit: Audit) -> str:
    """Say in one sentence how many checks found a gap that counts, and how bad."""
    failing = audit.failing()
    if not failing:
        key = "audit-nothing-new" if audit.known or audit.suppressed else "audit-clean"
        decided = sum(audit.counts()[outcome] for outcome in (Outcome.PASS, Outcome.FAIL))
        return say(key if decided else "audit-nothing-decided", audit.lang, checks=len(audit.results))
    worst = Counter(audit.results[number].check.content.severity for number in failing)
    told = [
        f"{say(f'report-severity-{severity.value}', audit.lang)} {worst[severity]}"
        for severity in Severity
        if worst[severity]
    ]
    return say(
        "audit-gaps", audit.lang, count=len(failing), checks=len(audit.results), severities=", ".join(told)
    )


def sources(audit: Audit) -> list[str]:
    """Say what was read, a sentence a cluster."""
    return [
        say(
            "audit-source",
            audit.lang,
            family=f"{one.family.capitalize()} {line(one.version or '')}".rstrip(),
            source=line(one.source),
            taken=date(one.taken.timestamp()),
        )
        for one in audit.snapshots
    ]


def undecided(audit: Audit) -> list[tuple[str, list[str]]]:
    """Return why which checks were not decided: (reason, ids); what the same checks lack stands together."""
    lacking: dict[Unread, list[str]] = {}
    others: dict[str, list[str]] = {}
    for result in audit.results:
        if result.outcome is Outcome.NO_DATA and not result.unsure:
            for one in result.unread:
                lacking.setdefault(one, []).append(result.check.id)
        elif result.outcome in (Outcome.NO_DATA, Outcome.ERROR):
            others.setdefault(reason(result, audit.lang), []).append(result.check.id)
    alike: dict[tuple[Why, str, tuple[str, ...]], list[str]] = {}
    for one, ids in lacking.items():
        alike.setdefault((one.why, one.detail, tuple(ids)), []).append(one.what)
    told = [
        (unread_line(Unread(why, shortened(what, audit.lang), detail), audit.lang), list(ids))
        for (why, detail, ids), what in alike.items()
    ]
    return [*told, *others.items()]


def beside(audit: Audit) -> list[str]:
    """Say what was found and does not count, which suppressions have expired or cover nothing."""
    return [*_suppressed(audit), *_known(audit), *_expired(audit), *_idle(audit)]


def _suppressed(audit: Audit) -> Iterator[str]:
    for one, count in Counter(audit.suppressed.values()).items():
        yield say(
            "audit-suppressed",
            audit.lang,
            check=one.check,
            count=count,
            reason=line(one.reason),
            until=one.expires,
        )


def _known(audit: Audit) -> Iterator[str]:
    if audit.baseline is None:
        return
    checks = dict.fromkeys(audit.results[audit.of[place]].check.id for place in sorted(audit.known))
    if audit.known:
        told = shortened(checks, audit.lang)
        yield say("audit-known", audit.lang, count=len(audit.known), checks=told)
    if gone := len(absent(audit)):
        yield say("audit-gone", audit.lang, count=gone)


def absent(audit: Audit) -> list[str]:
    """Return the fingerprints of the baseline that are there no longer, of checks that were decided."""
    if audit.baseline is None:
        return []
    decided = {
        result.check.id
        for result in audit.results
        if result.outcome in (Outcome.PASS, Outcome.FAIL, Outcome.NOT_APPLICABLE)
        and result.failing == len(result.gaps)
    }
    here = set(audit.prints)
    return [one for one, check in audit.baseline.found.items() if check in decided and one not in here]


def _expired(audit: Audit) -> Iterator[str]:
    for one in audit.suppressions.expired:
        yield say("audit-expired", audit.lang, check=one.check, subject=line(one.subject), until=one.expires)


def _idle(audit: Audit) -> Iterator[str]:
    """Say which suppressions cover nothing, of checks that were decided."""
    decided = {r.check.id for r in audit.results if r.outcome not in (Outcome.NO_DATA, Outcome.ERROR)}
    used = set(audit.suppressed.values())
    for one in audit.suppressions.valid:
        if one not in used and one.check in decided:
            yield say("audit-idle", audit.lang, check=one.check, subject=line(one.subject))


def counted(audit: Audit) -> str:
    """Say how many checks had each outcome; those that none had are left out."""
    return " · ".join(
        f"{say(f'audit-outcome-{outcome}', audit.lang)} {count}"
        for outcome, count in audit.counts().items()
        if count
    )
