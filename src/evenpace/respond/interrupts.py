"""Take the signals that are meant for the job, so that they can be passed on."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
FORWARDED = (*ENDING, signal.SIGUSR1, signal.SIGUSR2)


class Interrupts:
    """Collect what is meant for the job in a `with`; a signal that was ignored before stays ignored."""

    def __init__(self) -> None:
        self._pending: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        for number in FORWARDED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  signal's signature
        self._pending.append(number)

    def take(self) -> list[int]:
        """Return the signals that came since the last call, in order."""
        taken, self._pending = self._pending, []
        return taken
