"""Write a report where it was asked for: to a file or to standard output."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from rich.console import Console

from evenpace.report.html import to_html
from evenpace.report.json import to_json
from evenpace.report.output import FILE_WIDTH, destination, terminal, write
from evenpace.report.source import find_log, read_story
from evenpace.report.story import Story
from evenpace.report.text import print_report
from evenpace.terms import say


def show(run: Path, form: str, output: str | None, lang: str) -> None:
    """Show the report of a run (a folder or an event log) once; raises Problem."""
    file = destination(form, output)
    log = find_log(run)
    story = read_story(log)
    if story.damaged:
        print(f"evenpace: {say('report-damaged', lang, count=story.damaged)}", file=sys.stderr)
    if form == "text" and file is None:
        print_report(story, terminal(), lang)
    else:
        write(_render(story, form, lang), file, [log])


def _render(story: Story, form: str, lang: str) -> bytes:
    if form == "json":
        return to_json(story, lang)
    if form == "html":
        return to_html(story, lang).encode()
    page = io.StringIO()
    print_report(story, Console(file=page, width=FILE_WIDTH, highlight=False), lang)
    return page.getvalue().encode()
