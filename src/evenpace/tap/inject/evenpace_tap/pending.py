"""Operations of the Python tap that have not completed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from . import layout
from .ring import U16, Ring
from .rounds import Rounds

_POLL_SECONDS = 0.005
_MOST_PENDING = 1024


class Pending:
    """Operations that have not completed, by their Work. Whoever takes one out writes its end."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._works: dict[int, tuple[Any, int, bool]] = {}
        self._some = threading.Event()
        self._ended = False
        self._rounds = Rounds(ring, "asking for completions", self._ask)
        self._thread = threading.Thread(target=self._poll, name="evenpace-completion", daemon=True)

    def start(self) -> None:
        """Begin to ask for completions."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and let go of every Work."""
        self._ended = True
        self._some.set()
        self._thread.join(1.0)
        self._works.clear()

    def add(self, work: Any, index: int, on_cpu: bool) -> None:
        """Keep a Work until it completes. (As long as it is kept, the user is handed this very object.)"""
        if len(self._works) >= _MOST_PENDING:
            self._give_up(next(iter(self._works)))
        self._works[id(work)] = (work, index, on_cpu)
        if not on_cpu:
            self._ring.note("completion", "completion on devices other than the CPU is not seen")
        if not on_cpu or self._rounds.ended:
            self._ring.add_flag(index, layout.FLAG_COMPLETION_UNKNOWN)
        self._some.set()

    def waited(
        self, wait: Callable[..., bool], work: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> bool:
        """Wait on a Work as the user asked, and note for how long."""
        _, index, on_cpu = self._works.get(id(work), (None, None, False))
        if index is None:
            return wait(work, *args, **kwargs)
        entered = time.monotonic_ns()
        self._ring.update(index, "wait_enter_ns", entered)
        self._ring.update(index, "waiting", 1, U16)
        failed = True
        try:
            result = wait(work, *args, **kwargs)
            failed = False
        finally:
            ended = time.monotonic_ns()
            self._ring.update(index, "waiting", 0, U16)
            self._ring.update(index, "wait_ns", ended - entered)
            self._complete(id(work), ended, on_cpu, failed)
            if failed:
                self._ring.add_flag(index, layout.FLAG_FAILED)
        return result

    def _give_up(self, key: int) -> None:
        entry = self._works.pop(key, None)
        if entry is not None:
            self._ring.add_flag(entry[1], layout.FLAG_COMPLETION_UNKNOWN)

    def _complete(self, key: int, time_ns: int, on_cpu: bool, failed: bool) -> None:
        entry = self._works.pop(key, None)
        if entry is not None and (on_cpu or failed):
            self._ring.update(entry[1], "complete_ns", time_ns)

    def _poll(self) -> None:
        while not self._ended and not self._rounds.ended:
            self._some.wait()
            self._some.clear()
            while not self._ended and self._rounds.go() is not False and not self._rounds.ended:
                time.sleep(_POLL_SECONDS)
        if not self._ended:
            for key in list(self._works):
                self._give_up(key)

    def _ask(self) -> bool:
        """Ask each Work whether it has completed; tell whether there is one left to ask."""
        left = False
        for key, (work, _, on_cpu) in list(self._works.items()):
            if on_cpu and self._has_completed(key, work):
                self._complete(key, time.monotonic_ns(), True, False)
            else:
                left = left or on_cpu
        return left

    def _has_completed(self, key: int, work: Any) -> bool:
        try:
            return bool(work.is_completed())
        except Exception:  # it cannot be asked: no reason not to ask the others
            self._give_up(key)
            return False
