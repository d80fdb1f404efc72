"""Read a cluster, run the checks, and write the answer where it was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenpace.checks.catalogue import checks, chosen, find
from evenpace.checks.running import run_all
from evenpace.collect.dump import read
from evenpace.findings import Outcome
from evenpace.report.audit import audit_of, render
from evenpace.report.audit.explained import explained, listed
from evenpace.report.audit.formats.text import laid_out
from evenpace.report.output import destination, terminal, write


def list_checks(lang: str) -> int:
    """Print one line a check; return the exit code."""
    terminal().print(listed(checks().values(), lang))
    return 0


def explain(id_: str, lang: str) -> int:
    """Print what a check looks for and why; raises Problem for an unknown one."""
    terminal().print(explained(find(id_), lang))
    return 0


def run(origin: Path, ids: Sequence[str], form: str, output: str | None, lang: str) -> int:
    """Audit and show; return 1 where a check found a gap, else 0. Raises Problem."""
    file = destination(form, output)
    wanted = chosen(ids)
    snapshots = read(origin)
    audit = audit_of(snapshots, tuple(run_all(snapshots, wanted)), lang)
    if form == "text" and file is None:
        terminal().print(laid_out(audit))
    else:
        write(render(audit, form).encode(), file, [origin] if origin.is_file() else [])
    return 1 if audit.counts()[Outcome.FAIL] else 0
