"""Replay a recorded trace or run: what slowed it, and what evenpace would have said and done."""

from __future__ import annotations

from pathlib import Path

import click

from evenpace.terms import LANGUAGES


@click.command("replay")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the answer."
)
@click.option(
    "--lang", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Language of the answer."
)
@click.option(
    "--top",
    type=click.IntRange(1, 10_000),
    default=8,
    show_default=True,
    help="How many workers, stages and types of operations to list.",
)
def command(trace: Path, form: str, lang: str, top: int) -> None:
    """Replay TRACE as it was and as it would be with ideal operations, and say what explains the difference.

    TRACE is a trace of operations (.csv, .csv.gz, .parquet) in the columns of what-if analysis, or the folder
    of an `evenpace run`. Today's detector looks at it too; of a run, beside what was said then.

    \b
        evenpace replay trace.parquet
        evenpace replay evenpace-runs/monday --lang ko
        evenpace replay trace.csv.gz --format json
    """
    from evenpace.cli._replay.showing import show  # heavy, and not needed for --help

    show(trace, form, lang, top)
