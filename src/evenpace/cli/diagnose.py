"""Say from logs what failed, who is to blame and what to do: the logs of a dead or slow job."""

from __future__ import annotations

from pathlib import Path

import click

from evenpace.terms import LANGUAGES

FORMS = ("text", "json", "markdown", "sarif", "html")


@click.command("diagnose")
@click.argument("logs", nargs=-1, required=True, metavar="LOGS...")
@click.option("--format", "form", type=click.Choice(FORMS), default="text", help="Form of the answer.")
@click.option("--output", metavar="FILE", help="Write to FILE instead of standard output (`-`).")
@click.option("--lang", type=click.Choice(LANGUAGES), default="en", help="Language of the answer.")
@click.option(
    "--expect",
    metavar="RANGE",
    help="What the job should do, as in `13500..14000 tok/s`; units: tok/s, samples/s, s/it, TFLOPs.",
)
@click.option(
    "--redact",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write logs and answer to FOLDER with users, hosts, addresses and paths replaced.",
)
def command(  # noqa: PLR0913, PLR0917 - one parameter an option
    logs: tuple[str, ...], form: str, output: str | None, lang: str, expect: str | None, redact: Path | None
) -> int:
    """Say from LOGS what failed, which rank, host and GPU is the cause, and what to do now.

    LOGS are files (also .gz and .zst), folders, `-` for standard input, the pattern of a Slurm job's output,
    or the folder of an `evenpace run`. They are only read, and stay on this machine. Exit code 0: nothing was
    found, 1: something was.

    \b
        evenpace diagnose slurm-8812043.out
        evenpace diagnose logs/ dmesg-node042.log --lang ko
        evenpace diagnose '%x-%j-%N.out' --format json
        kubectl logs -l job=train --prefix --tail=-1 | evenpace diagnose -
    """
    from evenpace.cli._diagnose.answering import run  # heavy, and not needed for --help

    return run(logs, form, output, lang, expect, redact)
