"""Read logs, diagnose them, and write the answer where it was asked for."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from evenpace.diagnose.expect import expected
from evenpace.diagnose.reading import Progress, read
from evenpace.diagnose.sources import Inputs, find
from evenpace.errors import Problem
from evenpace.report.answer import Answer, answer_of, forms
from evenpace.report.answer.text import print_answer
from evenpace.report.output import FILE_WIDTH, destination, terminal, write
from evenpace.terms import say


def run(  # noqa: PLR0913, PLR0917 - one parameter an option
    logs: Sequence[str], form: str, output: str | None, lang: str, expect: str | None, redact: Path | None
) -> int:
    """Diagnose and show; return 1 where something was found, else 0. Raises Problem."""
    file = destination(form, output)
    range_ = expected(expect) if expect else None
    inputs = find(logs)
    if redact:
        from evenpace.report.answer.bundle import check_folder

        check_folder(redact, inputs.files)
    with _progress() as progress:
        case = replace(read(inputs, progress=progress), expected=range_)
    if not case.sources and not case.dumps:
        raise Problem(_nothing_read(inputs))
    answer = answer_of(case, inputs, lang)
    if redact:
        from evenpace.report.answer.bundle import write_bundle

        write_bundle(redact, answer, inputs.files, case.roster.hosts)
    if range_ and not any(one.name.removeprefix("served-") in _counted(range_[2]) for one in case.series):
        known = ", ".join(dict.fromkeys(one.name for one in case.series)) or "-"
        print(f"evenpace: {say('diagnose-not-compared', lang, range=expect, known=known)}", file=sys.stderr)
    _show(answer, form, file)
    return 1 if answer.findings else 0


def _nothing_read(inputs: Inputs) -> str:
    reasons = ", ".join(f"{len(names)} {reason}" for reason, names in inputs.skipped.items())
    some = next(iter(inputs.skipped.values()))[0] if inputs.skipped else "the input"
    return f"no log could be read ({reasons}; the first: {some}); name text files that you may read"


def _counted(unit: str) -> tuple[str, ...]:
    return (unit, "iteration-seconds") if unit == "iterations-per-second" else (unit,)


def _show(answer: Answer, form: str, file: Path | None) -> None:
    if form == "text" and file is None:
        print_answer(answer, terminal())
        return
    text = _as_text(answer) if form == "text" else forms()[form](answer)
    write(text.encode(), file, map(Path, answer.files))


def _as_text(answer: Answer) -> str:
    page = io.StringIO()
    print_answer(answer, Console(file=page, width=FILE_WIDTH, highlight=False, color_system=None))
    return page.getvalue()


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """Show how much was read, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        BarColumn(), DownloadColumn(), TransferSpeedColumn(), console=Console(stderr=True), transient=True
    )
    with bar:
        task = bar.add_task("", total=None)
        yield lambda done, whole: bar.update(task, completed=done, total=whole)
