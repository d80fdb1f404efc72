"""A worker that is killed (SIGKILL), as by the kernel's OOM killer."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from evenpace.faults.target import Target

FAULTS = ("worker-killed",)
CULPRIT = True


@contextmanager
def inject(target: Target) -> Iterator[None]:
    """Kill the process; there is no way back."""
    target.process.send_signal(signal.SIGKILL)
    yield
