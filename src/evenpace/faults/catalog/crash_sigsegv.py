"""A worker that dies of a segmentation fault (SIGSEGV)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from evenpace.faults.target import Target

FAULTS = (
    "user-code-exception",
    "worker-killed",
)  # from outside its own crash and a sent signal look the same
CULPRIT = True


@contextmanager
def inject(target: Target) -> Iterator[None]:
    """Send the signal; there is no way back."""
    target.process.send_signal(signal.SIGSEGV)
    yield
