"""Let agents such as Claude Code and Codex audit, diagnose and search, by read-only tools."""

from __future__ import annotations

from pathlib import Path

import click

from evenpace.errors import Problem

INSTALL = "agents need the MCP package: pip install '.[mcp]' in a clone of evenpace"


@click.command("mcp")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True), metavar="[PATH]...")
@click.option("--context", metavar="NAME", help="Context of the kubeconfig to audit where a call names none.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Kubeconfig, instead of $KUBECONFIG or ~/.kube/config.",
)
@click.option("--slurm", is_flag=True, help="Audit the cluster of this machine's Slurm commands as well.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Answer on this port of 127.0.0.1 instead of standard input; 0 takes a free one.",
)
def command(
    paths: tuple[Path, ...], context: str | None, kubeconfig: Path | None, slurm: bool, port: int | None
) -> None:
    """Answer an agent's questions by the Model Context Protocol, until it ends the connection.

    Tools: audit, check, list_checks, explain_check, search_incidents, show_incident, diagnose. None of them
    changes anything. PATH is a dump, a saved snapshot or a log. On standard input an agent may name other
    files and contexts of the kubeconfig, as you told it; on a port it gets only PATH, --context and --slurm,
    and must show EVENPACE_TOKEN where that is set.

    \b
        claude mcp add evenpace -- evenpace mcp
        codex mcp add evenpace -- evenpace mcp
        evenpace mcp --context prod
        evenpace mcp --port 8712 dump/
    """
    if context == "":
        raise Problem("--context is empty; name a context of the kubeconfig, or leave it out")
    try:
        from evenpace.mcp.reach import Reach
        from evenpace.mcp.server import build
    except ModuleNotFoundError as error:
        raise Problem(INSTALL) from error
    if context is not None:
        from evenpace.collect.kubernetes.config import access

        access(kubeconfig, context)  # said now where there is no such context, not at the first question
    server = build(Reach(context, kubeconfig, slurm, paths, callers_name=port is None))
    if port is None:
        server.run("stdio")
        return
    from evenpace.cli._mcp.listening import listen

    listen(server, port)
