"""Where a report goes: to the terminal, to a pipe, or to a file that is none of the logs it was made from."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console

from evenpace.errors import Problem

FILE_WIDTH = 100
_STDOUT = "-"


class _Terminal(Console):
    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to the root of the command line, which knows the exit code."""
        raise  # noqa: PLE0704 - called where BrokenPipeError was caught


def terminal() -> Console:
    """Return a console on standard output that shows what its encoding lacks as question marks."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return _Terminal(file=sys.stdout, highlight=False)


def destination(form: str, output: str | None) -> Path | None:
    """Return the file that `--output` names, or None for standard output.

    Raises Problem where a page of HTML would go to a terminal.
    """
    if output not in (None, _STDOUT):
        return Path(str(output))
    if form == "html" and sys.stdout.isatty():
        raise Problem("a page of HTML is not for a terminal; add --output FILE")
    return None


def write(content: bytes | Iterator[bytes], file: Path | None, logs: Iterable[Path]) -> None:
    """Write a report, whole or in pieces, to a file or to standard output.

    Raises Problem, also where the file is a log.
    """
    pieces = iter((content,)) if isinstance(content, bytes) else content
    if file is None:
        sys.stdout.buffer.writelines(pieces)
        return
    if any(file == log or (file.exists() and log.exists() and file.samefile(log)) for log in logs):
        raise Problem(f"{file} is one of the logs; choose another --output")
    try:
        with file.open("wb") as out:
            out.writelines(pieces)
    except OSError as error:
        raise Problem(f"cannot write {file}: {error.strerror}; choose another --output") from error
