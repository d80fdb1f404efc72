"""Run a training job under watch, and keep it going."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from evenpace import __version__
from evenpace.errors import Problem
from evenpace.respond.policy import POLICIES
from evenpace.terms import LANGUAGES, say
from evenpace.watch.events import Event, RunStarted, stamp

if TYPE_CHECKING:
    from evenpace.respond.session import Surroundings
    from evenpace.watch.voice import Voice

# Settings that belong to a run from its start; --attach takes only the others.
OF_THE_RUN = (
    *("nodes", "spares", "policy", "checkpoint_dir", "max_restarts", "max_nodes_out", "min_nodes"),
    *("run_dir", "tap"),
)
TAPS = ("auto", "native", "python", "off")
EPILOG = """\b
Examples:
  evenpace run -- torchrun --nproc-per-node=8 train.py --lr 3e-4
  evenpace run --nodes 4 --spares 1 --policy restart --checkpoint-dir ckpt \\
      -- torchrun --nproc-per-node=1 train.py

\b
Exit code: the job's own where it ends by itself (128 + n for signal n);
2 for usage and input; 75 where --policy restart gave up.
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for on the command line; names are those of the options."""

    command: tuple[str, ...]
    nodes: int | None
    spares: int
    policy: str
    checkpoint_dir: Path | None
    max_restarts: int
    max_nodes_out: int | None
    min_nodes: int | None
    run_dir: Path | None
    attach: Path | None
    metrics_port: int | None
    quiet: bool
    lang: str
    tap: str


@click.command(epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@click.option("--nodes", type=click.IntRange(1, 256), help="Emulate this many nodes here: one torchrun each.")
@click.option("--spares", type=click.IntRange(0), default=0, help="Further nodes, to replace a bad one.")
@click.option(
    "--policy",
    type=click.Choice(POLICIES),
    default="observe",
    show_default=True,
    help="observe only says what it would do; adapt acts on the running job; restart also restarts it.",
)
@click.option("--checkpoint-dir", type=click.Path(path_type=Path), help="Where the script keeps checkpoints.")
@click.option(
    "--max-restarts", type=click.IntRange(0), default=3, show_default=True, help="Budget of the whole run."
)
@click.option(
    "--max-nodes-out", type=click.IntRange(0), help="Cap on nodes taken out.  [default: spares + 1]"
)
@click.option(
    "--min-nodes", type=click.IntRange(1), help="Never go on with fewer nodes.  [default: nodes - 1]"
)
@click.option(
    "--run-dir",
    type=click.Path(path_type=Path),
    help="Folder of the run.  [default: evenpace-runs/<time>-<script>]",
)
@click.option(
    "--attach",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Go on watching a run whose evenpace died.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(1, 65535),
    help="Serve Prometheus metrics on this port of the loopback.",
)
@click.option("--quiet", is_flag=True, help="Do not show the output of the job; it is in the logs.")
@click.option(
    "--lang",
    type=click.Choice(LANGUAGES),
    default="en",
    show_default=True,
    help="Language of what evenpace says.",
)
@click.option(
    "--tap", type=click.Choice(TAPS), default="auto", show_default=True, help="How to look into the workers."
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def command(**options: object) -> int:
    """Run COMMAND under watch; put it after `--`.

    The command needs no change, and goes on where evenpace dies.
    """
    from evenpace.watch.voice import Voice

    asked = Asked(**options)  # type: ignore[arg-type]  # click has converted each option
    if os.environ.get("EVENPACE_RUN"):
        raise Problem(
            "this is inside an `evenpace run` already (EVENPACE_RUN is set); start the command itself"
        )
    with Voice(sys.stderr, asked.lang) as voice:
        return _attach(asked, asked.attach, voice) if asked.attach else _run(asked, voice)


def _run(asked: Asked, voice: Voice) -> int:
    from evenpace.respond.launchers.torchrun import require_multinode, require_program
    from evenpace.respond.session import run
    from evenpace.watch.runfolder import RunFolder, default_folder

    if not asked.command:
        raise Problem("no command to run; write it after --, as in: evenpace run -- torchrun train.py")
    if asked.spares and not asked.nodes:
        raise Problem("--spares needs --nodes: the command as it is has no node to replace")
    if asked.nodes and asked.min_nodes and asked.min_nodes > asked.nodes:
        raise Problem(f"--min-nodes {asked.min_nodes} is more than --nodes {asked.nodes}; lower it")
    if asked.checkpoint_dir and asked.checkpoint_dir.is_file():
        raise Problem(
            f"--checkpoint-dir {asked.checkpoint_dir} is a file; give the folder of the checkpoints"
        )
    if asked.run_dir == Path():
        raise Problem("--run-dir would fill the current folder; give a folder of its own")
    require_program(asked.command)
    if asked.nodes:
        require_multinode(asked.command)
    folder = RunFolder.create(asked.run_dir or default_folder(asked.command, time.time()))
    if not asked.quiet:
        voice.say(say("say-recording", asked.lang, folder=folder.shown))
    return run(_job(asked, folder.path.name), folder, _surroundings(asked, voice))


def _attach(asked: Asked, run_folder: Path, voice: Voice) -> int:
    """Go on with a run; its own settings hold, so others are refused rather than ignored."""
    from evenpace.respond.session import attach
    from evenpace.watch.runfolder import RunFolder

    if asked.command:
        raise Problem("--attach takes no command: the run knows its own; leave it out")
    context = click.get_current_context()
    for name in OF_THE_RUN:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise Problem(f"--attach keeps the settings of the run; leave --{name.replace('_', '-')} out")
    return attach(RunFolder.open(run_folder), _surroundings(asked, voice))


def _job(asked: Asked, name: str) -> RunStarted:
    """Return the first event of the run, which holds all that whoever attaches later must know."""
    count = asked.nodes or 0
    return RunStarted(
        time=stamp(time.time()),
        run=name,
        version=__version__,
        host=socket.gethostname(),
        command=list(asked.command),
        policy=asked.policy,
        nodes=[f"node{number}" for number in range(count)],
        spares=[f"spare{number}" for number in range(asked.spares)],
        checkpoint_dir=str(asked.checkpoint_dir.resolve()) if asked.checkpoint_dir else None,
        restarts=asked.max_restarts,
        max_nodes_out=asked.spares + 1 if asked.max_nodes_out is None else asked.max_nodes_out,
        min_nodes=asked.min_nodes or max(1, count - 1),
        tap=asked.tap,
        folder=str(Path.cwd()),
    )


def _surroundings(asked: Asked, voice: Voice) -> Surroundings:
    from evenpace.respond.console import Console
    from evenpace.respond.session import Surroundings

    listeners: list[Callable[[Event], None]] = [Console(voice.say, asked.lang)]
    if asked.metrics_port is not None:
        from evenpace.report.metrics import serve_metrics

        listeners.append(serve_metrics(asked.metrics_port).update)
    return Surroundings(tuple(listeners), voice.say, asked.lang, _output(asked))


def _output(asked: Asked) -> int | None:
    """Return the descriptor to show the job's output on; None with --quiet or where it is closed."""
    if asked.quiet or sys.stdout is None:
        return None
    return sys.stdout.fileno()
