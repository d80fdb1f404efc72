"""Cause a real fault in a running job, for a drill."""

from __future__ import annotations

import math
import os
import shlex
import signal
import time
from pathlib import Path
from types import FrameType
from typing import Any

import click

from evenpace.errors import Problem

_LANG = click.option("--lang", type=click.Choice(["en", "ko"]), default="en", help="Language of the output.")


@click.group()
def command() -> None:
    """Cause a real fault in a running job, to see what evenpace says about it.

    `inject` acts on a worker that runs, and reverts at the end. `plant` prints the environment that makes a
    fault happen inside a worker at a given step, without touching the training script.
    """


@command.command("list")
@_LANG
def list_faults(lang: str) -> None:
    """List the faults and the verdict that is right for each."""
    from evenpace import faults
    from evenpace.terms import say

    for fault in map(faults.find, faults.names()):
        click.echo(f"{fault.name} ({'plant' if fault.planted else 'inject'})")
        click.echo(f"  {fault.describe(lang)}")
        named = "faults-verdict-victim" if fault.culprit else "faults-verdict-nobody"
        click.echo(f"  {say(named, lang, faults=' / '.join(fault.slugs))}")


@command.command()
@click.argument("name")
@click.option("--run", type=click.Path(path_type=Path), required=True, help="Folder of the run.")
@click.option("--rank", type=click.IntRange(min=0), required=True, help="Rank of the worker to hit.")
@click.option("--seconds", type=click.FloatRange(min=0), help="How long; without it until Ctrl-C.")
@click.option("--factor", type=click.FloatRange(min=1.05, max=100), default=2.0, help="How much slower.")
@click.option("--force", is_flag=True, help="Also hit a process that is not yours or no worker of a run.")
@_LANG
def inject(  # noqa: PLR0913  click's options
    name: str, *, run: Path, rank: int, seconds: float | None, factor: float, force: bool, lang: str
) -> None:
    """Inject the fault NAME into a running worker; revert it at the end, whatever ends this command."""
    from evenpace import faults
    from evenpace.faults import ledger, target
    from evenpace.terms import say

    if math.isnan(factor) or (seconds is not None and math.isnan(seconds)):
        raise Problem("--factor and --seconds must be numbers, not nan")
    fault = faults.find(name)
    worker = target.worker(run, rank)
    aimed = target.aim(worker.pid, factor, force)
    signal.signal(signal.SIGTERM, _interrupt)
    began = time.monotonic()
    with fault.inject(aimed):
        ledger.enter(run, name, rank)
        click.echo(say("faults-began", lang, fault=name, rank=rank, node=worker.node, pid=worker.pid))
        _until_over(aimed, None if seconds is None else began + seconds)
    ledger.enter(run, name, rank, "reverted")
    after = time.monotonic() - began
    click.echo(
        say("faults-reverted" if aimed.alive() else "faults-worker-ended", lang, fault=name, seconds=after)
    )


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _until_over(aimed: Any, end: float | None) -> None:
    """Wait until `end` (monotonic seconds), the worker's end or Ctrl-C."""
    try:
        while aimed.alive() and (end is None or time.monotonic() < end):
            time.sleep(0.05 if end is None else max(min(0.05, end - time.monotonic()), 0))
    except KeyboardInterrupt:
        return


@command.command()
@click.argument("name")
@click.option("--rank", type=click.IntRange(0, 999_999), required=True, help="Rank of the worker to hit.")
@click.option(
    "--step", type=click.IntRange(1, 999_999_999), required=True, help="After how many optimizer steps."
)
def plant(name: str, rank: int, step: int) -> None:
    """Print the environment that plants the fault NAME: eval it before `evenpace run`."""
    from evenpace import faults
    from evenpace.faults import planted

    fault = faults.find(name)
    if not fault.planted:
        raise Problem(
            f"{name} is injected into a running worker: evenpace faults inject {name} --run RUN --rank {rank}"
        )
    for variable, value in planted.environment(planted.Spec(name, rank, step), os.environ).items():
        click.echo(f"export {variable}={shlex.quote(value)}")
