"""Show what happened in a run: as text, JSON or one page of HTML, afterwards or while it runs."""

from __future__ import annotations

from pathlib import Path

import click

from evenpace.errors import Problem
from evenpace.terms import LANGUAGES


@click.command("report")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html"]),
    default="text",
    help="Form of the report.",
)
@click.option("--output", metavar="FILE", help="Write to FILE instead of standard output (`-`).")
@click.option(
    "--lang", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Language of the report."
)
@click.option("--follow", is_flag=True, help="Show the run live in the terminal until it ends.")
def command(run: Path, form: str, output: str | None, lang: str, follow: bool) -> None:
    """Show what happened in RUN: the folder of a run, or its events.jsonl.

    The verdict comes first: which worker on which node, what, since when, what was done. The report can be
    made again at any time, also of a run that is going on.
    """
    if follow:
        _follow(run, form, output, lang)
        return
    from evenpace.report.show import show  # heavy, and not needed for --help

    show(run, form, output, lang)


def _follow(run: Path, form: str, output: str | None, lang: str) -> None:
    if form != "text" or output is not None:
        raise Problem("--follow shows text in the terminal; leave --format and --output out")
    from evenpace.report.live import follow  # heavy, and not needed for --help
    from evenpace.report.output import terminal
    from evenpace.report.source import find_log

    follow(find_log(run), terminal(), lang)
