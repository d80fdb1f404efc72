"""A worker that is stopped and resumed many times a second, so that it gets 1/factor of its time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from evenpace.faults.resume import stopped
from evenpace.faults.target import Target

FAULTS = ("non-communication-slow",)
CULPRIT = True
CYCLE = 0.04  # seconds; short against an iteration


@contextmanager
def inject(target: Target) -> Iterator[None]:
    """Run the duty cycle in a thread until the context ends."""
    over = threading.Event()
    thread = threading.Thread(target=_cycle, args=(target, over), daemon=True)
    with stopped(target):
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _cycle(target: Target, over: threading.Event) -> None:
    running = CYCLE / target.factor
    try:
        while not over.is_set():
            target.process.suspend()
            over.wait(CYCLE - running)
            target.process.resume()
            over.wait(running)
    except psutil.NoSuchProcess:
        return
