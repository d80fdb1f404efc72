"""The command line: one file a command, found by path and imported only when it is used.

A command's file has a one-line module docstring (its short help) and a click command named `command`. A file
whose name begins with an underscore is no command. `main` is where errors become words and exit codes.
"""

from __future__ import annotations

import errno
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from evenpace import __version__
from evenpace.errors import Problem

EXIT_CODES = {
    "0": "The command did what it was asked; for `run`, the job ended with 0.",
    "1": "`diagnose`, `audit` or `library validate` found something, `explain` does not know something.",
    "2": "Usage or input: one line on stderr says what is wrong and what to do.",
    "70": "A defect in evenpace itself: one line says where the details were written.",
    "75": "`run --policy restart` gave up: out of restarts, or the same fault came back at the same step.",
    "128 + n": "For `run`: signal n ended the job.",
    "130": "Interrupted (Ctrl-C).",
    "141": "The reader of our output went away (a closed pipe).",
    "other": "For `run`: the job's own exit code.",
}


class Commands(click.Group):
    """Find commands in `folder`, whose package is `package`, without importing them for help."""

    def __init__(self, *args: object, folder: Path, package: str, **attrs: object) -> None:
        super().__init__(*args, **attrs)  # type: ignore[arg-type]
        self.folder = folder
        self.package = package

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Return the names of all commands, in order."""
        names = (path.stem for path in self.folder.glob("*.py") if not path.stem.startswith("_"))
        return sorted(name.replace("_", "-") for name in names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's file and return its `command`; None where there is no such file."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{self.package}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one line a command, read from the file and not from the imported module."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.first_line(name)) for name in self.list_commands(ctx)])

    def first_line(self, name: str) -> str:
        """Return the first line of the command's module docstring."""
        path = self.folder / f"{name.replace('-', '_')}.py"
        with path.open(encoding="utf-8") as source:
            return source.readline().strip().strip('"')

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does; an unknown command is answered with the known ones."""
        if args and args[0] not in self.list_commands(ctx):
            ctx.fail(f"No command {args[0]!r}. There are: {', '.join(self.list_commands(ctx))}.")
        return super().resolve_command(ctx, args)


@click.group(
    "evenpace",
    cls=Commands,
    folder=Path(__file__).parent,
    package=__name__,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Keep large training runs at full pace: name the worker that failed or slowed, and go on without it."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; the only way out is an exit code of EXIT_CODES."""
    sys.exit(execute(cli, sys.argv[1:] if argv is None else list(argv)))


def execute(group: click.Group, argv: list[str]) -> int:
    """Run `group` with `argv` and return the exit code; whatever goes wrong is one line on stderr."""
    try:
        if sys.stdout is None:
            raise Problem("standard output is closed; open it, or send it to a file")
        code = _invoke(group, argv)
        sys.stdout.flush()
    except Problem as problem:
        return _complain(str(problem), problem.exit_code)
    except click.ClickException as error:
        return _complain(_usage(error, argv), 2)
    except (KeyboardInterrupt, click.Abort):
        return _complain("interrupted", 130)
    except OSError as error:
        return _unwritten(error, argv)
    except Exception as error:
        return _complain(_defect(error, argv), 70)
    return code


def _invoke(group: click.Group, argv: list[str]) -> int:
    try:
        with group.make_context("evenpace", argv) as context:
            answer = group.invoke(context)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    return answer if isinstance(answer, int) else 0


def _complain(text: str, code: int) -> int:
    # What stands in a file or its name must not steer the terminal.
    harmless = "".join(
        one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in " ".join(text.split())
    )
    print(f"evenpace: {harmless}", file=sys.stderr)
    return code


def _usage(error: click.ClickException, argv: list[str]) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    where = context.command_path if context else " ".join(["evenpace", *argv[:1]])
    message = error.format_message()
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} See `{where} --help`."


def _unwritten(error: OSError, argv: list[str]) -> int:
    """Tell a reader that went away and a full disk from a defect."""
    if isinstance(error, BrokenPipeError):
        return _reader_gone()
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return _complain(_defect(error, argv), 70)
    _reader_gone()
    return _complain(f"cannot write the output: {error.strerror}; make room and try again", 2)


def _reader_gone() -> int:
    import os

    # The interpreter flushes stdout once more at exit: give it somewhere to write.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def _defect(error: Exception, argv: list[str]) -> str:
    import tempfile
    import traceback

    what = f"unexpected {type(error).__name__}: {error}"
    report = [f"evenpace {__version__}, Python {sys.version}", f"arguments: {argv}", ""]
    report += traceback.format_exception(error)
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="evenpace-crash-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write("\n".join(report))
    except OSError:
        return f"{what}; the details could not be written to {tempfile.gettempdir()}"
    return f"{what}; this is a defect of evenpace, please report it with {file.name}"
