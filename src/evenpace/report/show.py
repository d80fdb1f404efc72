"""Write a report where it was asked for: to a file or to standard output."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from rich.console import Console

from evenpace.errors import Problem
from evenpace.report.html import to_html
from evenpace.report.json import to_json
from evenpace.report.source import find_log, read_story
from evenpace.report.story import Story
from evenpace.report.text import print_report
from evenpace.terms import say

_FILE_WIDTH = 100
_STDOUT = "-"


class _Terminal(Console):
    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to the root of the command line, which knows the exit code."""
        raise  # noqa: PLE0704 - called where BrokenPipeError was caught


def show(run: Path, form: str, output: str | None, lang: str) -> None:
    """Show the report of a run (a folder or an event log) once; raises Problem."""
    to_stdout = output in (None, _STDOUT)
    if form == "html" and to_stdout and sys.stdout.isatty():
        raise Problem("a page of HTML is not for a terminal; add --output FILE")
    story = read_story(find_log(run))
    if story.damaged:
        print(f"evenpace: {say('report-damaged', lang, count=story.damaged)}", file=sys.stderr)
    if form == "text" and to_stdout:
        print_report(story, terminal(), lang)
    elif to_stdout:
        sys.stdout.buffer.write(_render(story, form, lang))
    else:
        _write(Path(str(output)), _render(story, form, lang), find_log(run))


def terminal() -> Console:
    """Return a console on standard output that shows what its encoding lacks as question marks."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return _Terminal(file=sys.stdout, highlight=False)


def _render(story: Story, form: str, lang: str) -> bytes:
    if form == "json":
        return to_json(story, lang)
    if form == "html":
        return to_html(story, lang).encode()
    page = io.StringIO()
    print_report(story, Console(file=page, width=_FILE_WIDTH, highlight=False), lang)
    return page.getvalue().encode()


def _write(path: Path, content: bytes, log: Path) -> None:
    if path.exists() and path.samefile(log):
        raise Problem(f"{path} is the log of the run itself; choose another --output")
    try:
        path.write_bytes(content)
    except OSError as error:
        raise Problem(f"cannot write {path}: {error.strerror}; choose another --output") from error
