"""Nobody stays stopped: whatever ends the injector, its victims are resumed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

from evenpace.faults.target import Target

# Waits until the injector closes the pipe, in order or by dying, then resumes the victim.
_GUARD = "import os,signal,sys; sys.stdin.read(); os.kill(int(sys.argv[1]), signal.SIGCONT)"


@contextmanager
def stopped(target: Target) -> Iterator[None]:
    """Let the body stop the process; resume it at the end, even where this process is killed meanwhile."""
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _GUARD, str(target.process.pid)],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        with suppress(psutil.NoSuchProcess):
            target.process.resume()
        guard.communicate()
