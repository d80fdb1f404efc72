"""A worker that is stopped (SIGSTOP) and answers nothing, as on a frozen host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from evenpace.faults.resume import stopped
from evenpace.faults.target import Target

FAULTS = ("non-communication-hang",)
CULPRIT = True


@contextmanager
def inject(target: Target) -> Iterator[None]:
    """Stop the process until the context ends."""
    with stopped(target):
        target.process.suspend()
        yield
