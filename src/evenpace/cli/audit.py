"""Find the gaps behind public incidents in a Kubernetes or Slurm cluster, by reading only."""

from __future__ import annotations

from pathlib import Path

import click

from evenpace.findings import Severity
from evenpace.terms import LANGUAGES

FAIL_ON = (*(severity.value for severity in Severity), "undecided", "never")


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
@click.option("--context", metavar="NAME", help="Context of the kubeconfig, instead of the current one.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Kubeconfig, instead of $KUBECONFIG or ~/.kube/config.",
)
@click.option(
    "--namespace",
    metavar="NAME",
    help="Of what users make, read this namespace only; all else is read whole.",
)
@click.option(
    "--job-script",
    "job_scripts",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Audit this batch script of Slurm as well; may be repeated.",
)
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep what was read, without secrets, as JSON that --from reads.",
)
@click.option("--redact", is_flag=True, help="Replace all names, in what is shown and in what is kept.")
@click.option("--check", "ids", multiple=True, metavar="ID", help="Run only this check; may be repeated.")
@click.option("--list", "listing", is_flag=True, help="List the checks and end.")
@click.option("--explain", "explaining", metavar="ID", help="Explain a check and end.")
@click.option("--format", "form", type=click.Choice(_forms()), default="text", help="Form of the answer.")
@click.option("--output", metavar="FILE", help="Write to FILE instead of standard output (`-`).")
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="info",
    show_default=True,
    metavar="SEVERITY",
    help="Exit with 1 from this severity on: critical, warning, info, undecided (also where a check could not"
    " be decided), or never.",
)
@click.option(
    "--suppress",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="TOML of gaps that do not count: check, subject, reason, expires.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="JSON of an earlier audit: only what is new counts.",
)
@click.option("--lang", type=click.Choice(LANGUAGES), default="en", help="Language of the answer.")
def command(  # noqa: PLR0913, PLR0917 - one parameter an option
    origin: Path | None,
    context: str | None,
    kubeconfig: Path | None,
    namespace: str | None,
    job_scripts: tuple[Path, ...],
    save: Path | None,
    redact: bool,
    ids: tuple[str, ...],
    listing: bool,
    explaining: str | None,
    form: str,
    output: str | None,
    fail_on: str,
    suppress: Path | None,
    baseline: Path | None,
    lang: str,
) -> int:
    """Say which gaps behind public incidents a cluster has, with the evidence as read and what to change.

    Nothing is written to the cluster. Exit code 0: no gap was found that counts, 1: some were (--fail-on says
    which), 2: the cluster or an option could not be read.

    Without --from, the cluster is read that kubectl would talk to, and the one of Slurm's commands.

    \b
        evenpace audit
        evenpace audit --context prod --check jobset_no_restarts
        evenpace audit --job-script train.sbatch
        evenpace audit --save cluster.json --redact
        evenpace audit --from dump/ --format json --output audit.json
        evenpace audit --from dump/ --baseline audit.json --fail-on critical
        evenpace audit --explain jobset_no_restarts --lang ko
    """
    if listing or explaining is not None:
        from evenpace.cli._audit import explaining as about

        return (
            about.explain(explaining, form, output, lang)
            if explaining
            else about.list_checks(form, output, lang)
        )
    from evenpace.cli._audit import answering, sources  # heavy, and not needed for --help

    source = sources.Source(origin, context, kubeconfig, namespace, job_scripts, save, redact)
    return answering.run(source, ids, answering.Asked(form, output, lang, fail_on, suppress, baseline))
