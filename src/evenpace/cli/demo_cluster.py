"""Serve a made-up cluster of GPU nodes, with gaps to find, on the Kubernetes API and on this machine only."""

from __future__ import annotations

from pathlib import Path

import click

from evenpace.terms import LANGUAGES


@click.command("demo-cluster")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8712, show_default=True, help="Port; 0 takes a free one."
)
@click.option(
    "--nodes", type=click.IntRange(100, 10_000), default=200, show_default=True, help="Nodes with eight GPUs."
)
@click.option("--clean", is_flag=True, help="Seed no gap.")
@click.option("--gap", "ids", multiple=True, metavar="ID", help="Seed only this gap; may be repeated.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a kubeconfig that leads here.",
)
@click.option(
    "--log", type=click.Path(path_type=Path), metavar="FILE", help="Write every request to FILE, a line each."
)
@click.option("--lang", type=click.Choice(LANGUAGES), default="en", help="Language of what is printed here.")
def command(  # noqa: PLR0913, PLR0917 - one parameter an option
    port: int,
    nodes: int,
    clean: bool,
    ids: tuple[str, ...],
    kubeconfig: Path | None,
    log: Path | None,
    lang: str,
) -> None:
    """Serve a made-up GPU cluster until Ctrl-C: something to audit, to break and to mend.

    It answers kubectl and other clients on loopback, without a password. Every gap that `evenpace audit`
    knows of Kubernetes is in it, unless told otherwise:

    \b
        evenpace demo-cluster --kubeconfig demo.kubeconfig
        evenpace audit --kubeconfig demo.kubeconfig
        evenpace demo-cluster --clean
        evenpace demo-cluster --gap driver_drift
    """
    if clean and ids:
        raise click.UsageError("--clean and --gap exclude each other")
    from evenpace.cli._demo_cluster import serving

    serving.serve(port, nodes, () if clean else ids or None, kubeconfig, log, lang)
