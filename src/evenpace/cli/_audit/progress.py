"""How far an audit is, on a terminal's standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from evenpace.checks.catalogue import Check
from evenpace.checks.running import Result, run_all
from evenpace.collect.snapshot import Snapshot
from evenpace.terms import say


@contextmanager
def reading(lang: str) -> Iterator[None]:
    """Show on a terminal that a cluster is being read, and for how long."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, refresh_per_second=4) as bar:
        bar.add_task(say("audit-reading", lang), total=None)
        yield


def watched(snapshots: Sequence[Snapshot], checks: Sequence[Check]) -> Iterator[Result]:
    """Yield the results of checks; on a terminal, show meanwhile how many are done."""
    if not sys.stderr.isatty():
        yield from run_all(snapshots, checks)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    whole = sum(check.family == one.family for one in snapshots for check in checks)
    columns = BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=whole)
        for result in run_all(snapshots, checks):
            bar.update(task, advance=1, description=result.check.id)
            yield result
