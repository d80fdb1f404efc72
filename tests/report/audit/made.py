"""A made-up audit of made-up checks, a clean one and a hostile one, for every surface."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from evenpace.checks.answers import Gap, Unsure
from evenpace.checks.catalogue import Check, read
from evenpace.checks.running import Result
from evenpace.collect.snapshot import Snapshot, Unread, Why
from evenpace.findings import Evidence, Outcome, Subject
from evenpace.report.audit import Audit, audit_of, render
from evenpace.report.audit.baseline import Baseline
from evenpace.report.audit.suppressions import Suppression, Suppressions

TAKEN = datetime(2026, 11, 29, 12, tzinfo=UTC)
KUBERNETES = Snapshot("kubernetes", "context prod", TAKEN, {"nodes": ()}, version="v1.33.1")
SLURM = Snapshot("slurm", "dump/", TAKEN, {"config": {}})
CLUSTER = Subject(kind="object", object="slurm")
FORBIDDEN = Unread(Why.FORBIDDEN, "list pods")


def check(family: str, name: str) -> Check:
    """Return one of the checks beside this file."""
    return read(Path(__file__).parent / "checks" / family / name / "check.toml", "nowhere")


RESTARTS, DRIVERS, QUIET = (check("kubernetes", name) for name in ("no_restarts", "driver_apart", "quiet"))
PROLOG = check("slurm", "no_prolog")


def job(name: str, namespace: str = "ml") -> Subject:
    """Return a Job."""
    return Subject(kind="object", object=f"Job/{namespace}/{name}")


def gap(subject: Subject, *quoted: str, since: str | None = None) -> Gap:
    """Return a gap with evidence."""
    source = subject.object or "Node"
    return Gap(subject, tuple(Evidence(source, text=text) for text in quoted), {}, since)


def failed(of: Check, *gaps: Gap, more: int = 0, snapshot: Snapshot = KUBERNETES) -> Result:
    """Return a failure; `more` gaps are not listed."""
    count = len(gaps) + more
    return Result(of, snapshot, Outcome.FAIL, gaps, count, count + 1)


def results(jobs: int = 6, more: int = 0) -> tuple[Result, ...]:
    """Return every outcome: two failures, no data, an error, not applicable, a pass."""
    ended = (gap(job(f"train-{n}"), "null") for n in range(jobs))
    apart = Subject(kind="node", node=["gpu-1", "gpu-2"])
    return (
        failed(DRIVERS, gap(apart, "550.54.15", "550.90.07", since="2026-11-20T08:00:00Z")),
        failed(RESTARTS, *ended, more=more),
        Result(QUIET, KUBERNETES, Outcome.NO_DATA, unread=(FORBIDDEN,)),
        Result(PROLOG, SLURM, Outcome.ERROR, error="KeyError: 'x'"),
    )


def audit(
    lang: str = "en",
    said: Iterable[Result] | None = None,
    suppressions: Suppressions | None = None,
    baseline: Baseline | None = None,
) -> Audit:
    """Return an audit of two clusters."""
    return audit_of((KUBERNETES, SLURM), tuple(said or results()), lang, suppressions, baseline)


def clean(lang: str = "en") -> Audit:
    """Return an audit in which all is well."""
    passed = [Result(one, KUBERNETES, Outcome.PASS, looked_at=9) for one in (DRIVERS, RESTARTS)]
    nothing = Result(QUIET, KUBERNETES, Outcome.NOT_APPLICABLE)
    return audit_of((KUBERNETES,), (*passed, nothing), lang)


def suppression(subject: str = "Job/ml/train-[0-2]", until: date = date(2027, 3, 31)) -> Suppression:
    """Return a decision about jobs that do not start again."""
    return Suppression(RESTARTS.id, subject, "Started by hand.", until)


def aside(lang: str = "en") -> Audit:
    """Return an audit with suppressions (one expired, one that covers nothing) and a baseline."""
    decided = Suppressions((suppression(), suppression("Job/old/*")), (suppression("*", date(2020, 1, 1)),))
    prints = audit().prints
    known = {prints[3]: RESTARTS.id, prints[6]: DRIVERS.id, "0" * 32: DRIVERS.id}
    return audit(lang, None, decided, Baseline(known))


def hostile(trick: str, lang: str = "en") -> Audit:
    """Return an audit of a cluster whose tenants have put `trick` wherever they could."""
    bad = Subject(kind="object", object=f"Job/{trick}/{trick}")
    found = Gap(bad, (Evidence(trick, text=trick), Evidence("a", text=trick)), {"name": trick})
    node = Subject(kind="node", node=[trick, "gpu-2"])
    said = (
        failed(RESTARTS, *([found] * 6)),
        failed(DRIVERS, Gap(node, (Evidence(trick, metric=trick, value=trick),))),
        Result(QUIET, KUBERNETES, Outcome.NO_DATA, unsure=(Unsure(bad),), unread=()),
        Result(PROLOG, SLURM, Outcome.ERROR, error=trick),
        Result(QUIET, KUBERNETES, Outcome.NO_DATA, unread=(Unread(Why.FAILED, trick, trick),)),
    )
    decided = Suppressions((), (Suppression(RESTARTS.id, trick, trick, date(2020, 1, 1)),))
    sources = replace(KUBERNETES, source=trick, version=trick)
    told = [replace(one, snapshot=sources) if one.snapshot is KUBERNETES else one for one in said]
    return audit_of((sources, SLURM), told, lang, decided)


def rendered(audit: Audit, form: str) -> str:
    """Return an audit in a form, whole."""
    return "".join(render(audit, form))
