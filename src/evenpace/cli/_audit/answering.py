"""Read a cluster, run the checks, and write the answer where it was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from evenpace.checks.catalogue import chosen
from evenpace.cli._audit.progress import reading, watched
from evenpace.cli._audit.sources import Source, snapshots_of
from evenpace.collect.snapshot import Snapshot, Why
from evenpace.errors import Problem
from evenpace.report.audit import Audit, audit_of, baseline, render, suppressions
from evenpace.report.audit.failing import fails
from evenpace.report.audit.formats.text import print_audit
from evenpace.report.output import destination, terminal, write
from evenpace.terms.spelling import line

NO_ANSWER = (Why.FAILED, Why.TIMEOUT, Why.MALFORMED)


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold how the answer was asked for: its form, file and language, what counts, and when it fails."""

    form: str
    output: str | None
    lang: str
    fail_on: str
    suppress: Path | None = None
    baseline: Path | None = None


def run(source: Source, ids: Sequence[str], asked: Asked) -> int:
    """Audit and show; return 1 where the audit fails, else 0. Raises Problem."""
    file = destination(asked.form, asked.output)
    wanted = chosen(ids)
    today = datetime.now(UTC).date()
    decisions = suppressions.read(asked.suppress, today) if asked.suppress else None
    earlier = baseline.read(asked.baseline) if asked.baseline else None
    with reading(asked.lang):
        snapshots = snapshots_of(source, wanted)
    results = tuple(watched(snapshots, wanted))
    audit = audit_of(snapshots, results, asked.lang, decisions, earlier)
    named = (source.origin, source.kubeconfig, source.save, asked.suppress, *source.job_scripts)
    _show(audit, asked.form, file, [one for one in named if one and one.is_file()])
    if not any(snapshot.kinds for snapshot in snapshots):
        _broken(snapshots)
    return 1 if fails(audit, asked.fail_on) else 0


def _broken(snapshots: Sequence[Snapshot]) -> None:
    """Raise Problem where nothing at all was read because the cluster did not answer as one does."""
    for snapshot in snapshots:
        for reason in snapshot.unread.values():
            if reason.why in NO_ANSWER:
                why = f" ({line(reason.detail)})" if reason.detail else ""
                raise Problem(
                    f"nothing could be read of {line(snapshot.source)}: {line(reason.what)}{why}; "
                    "see that the address, the credentials and the cluster are right"
                )


def _show(audit: Audit, form: str, file: Path | None, inputs: Sequence[Path]) -> None:
    if form == "text" and file is None:
        print_audit(audit, terminal())
    else:
        write((piece.encode() for piece in render(audit, form)), file, inputs)
