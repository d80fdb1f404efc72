"""Find the gaps behind public incidents in a Kubernetes or Slurm cluster, by reading only."""

from __future__ import annotations

from pathlib import Path

import click

from evenpace.terms import LANGUAGES


def _forms() -> tuple[str, ...]:
    folder = Path(__file__).parent.parent / "report" / "audit" / "formats"
    names = (path.stem for path in folder.glob("[a-z]*.py"))
    return tuple(sorted(names, key=lambda name: (name != "text", name)))


@click.command("audit")
@click.option(
    "--from",
    "origin",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="Folder of `kubectl get … -o json` and of Slurm's output, or a saved snapshot.",
)
@click.option("--check", "ids", multiple=True, metavar="ID", help="Run only this check; may be repeated.")
@click.option("--list", "listing", is_flag=True, help="List the checks and end.")
@click.option("--explain", "explaining", metavar="ID", help="Explain a check and end.")
@click.option("--format", "form", type=click.Choice(_forms()), default="text", help="Form of the answer.")
@click.option("--output", metavar="FILE", help="Write to FILE instead of standard output (`-`).")
@click.option("--lang", type=click.Choice(LANGUAGES), default="en", help="Language of the answer.")
def command(  # noqa: PLR0913, PLR0917 - one parameter an option
    origin: Path | None,
    ids: tuple[str, ...],
    listing: bool,
    explaining: str | None,
    form: str,
    output: str | None,
    lang: str,
) -> int:
    """Say which gaps behind public incidents a cluster has, with the evidence as read and what to change.

    Nothing is written to the cluster. Exit code 0: no check found a gap, 1: some did.

    \b
        evenpace audit --from dump/
        evenpace audit --from dump/ --format json --lang ko
        evenpace audit --explain jobset_no_restarts
    """
    from evenpace.cli._audit import answering  # heavy, and not needed for --help

    if listing:
        return answering.list_checks(lang)
    if explaining is not None:
        return answering.explain(explaining, lang)
    if origin is None:
        raise click.UsageError("Missing option '--from'")
    return answering.run(origin, ids, form, output, lang)
