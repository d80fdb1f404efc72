"""A worker's life in its ring: heartbeat, where its main thread is, the exception or exit that ends it."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn

from . import layout
from .ring import Ring

HEARTBEAT_SECONDS = 0.5
_DEEPEST = 64  # frames of a sample


def sample_stack(thread: int) -> str:
    """Return a thread's Python frames, innermost first, one "file:line:function" a line."""
    frame = sys._current_frames().get(thread)
    lines: list[str] = []
    while frame is not None and len(lines) < _DEEPEST:
        lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno}:{frame.f_code.co_name}")
        frame = frame.f_back
    return "\n".join(lines)


class Heartbeat(threading.Thread):
    """Twice a second: the time, the main thread's stack if it moved, and whatever `also` has to do."""

    def __init__(self, ring: Ring, also: Callable[[], None]) -> None:
        super().__init__(name="evenpace-heartbeat", daemon=True)
        self._ring = ring
        self._also = also
        self._ended = threading.Event()
        self._stack = ""
        self._changes = 0

    def run(self) -> None:
        """Beat until stopped."""
        while not self._ended.wait(HEARTBEAT_SECONDS):
            self.beat()
            self._also()

    def beat(self) -> None:
        """Write one heartbeat and one sample of the stack."""
        stack = sample_stack(threading.main_thread().ident or 0)
        sampled = time.monotonic_ns()
        if stack != self._stack:
            self._changes += bool(self._stack)
            self._stack = stack
            self._ring.write_text(layout.STACK_AREA, stack)
        self._ring.set(heartbeat_ns=sampled, stack_ns=sampled, stack_changes=self._changes)

    def stop(self) -> None:
        """End the thread; wait at most a second for it."""
        self._ended.set()
        if self.is_alive():
            self.join(1.0)


class Ending:
    """Writes how the process ends, through sys.excepthook, sys.exit and atexit; each calls on as before."""

    def __init__(self, ring: Ring, before_exit: Callable[[], None]) -> None:
        self._ring = ring
        self._before_exit = before_exit
        self._pid = os.getpid()
        self._exit_code = 0
        self._excepthook = sys.excepthook

    def install(self) -> None:
        """Hook into the interpreter."""
        self._excepthook, sys.excepthook = sys.excepthook, self._uncaught
        sys.exit = self._exit  # mypy: the same signature
        atexit.register(self._exited)

    def failed(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Record the exception that ends this process."""
        import traceback

        _, room = layout.EXCEPTION_AREA
        head = f"{kind.__name__}: {error}"[: room // 6].replace("\n", " ")
        tail = "".join(traceback.format_exception(kind, error, trace))[-room // 2 :]
        self._ring.write_text(layout.EXCEPTION_AREA, f"{head}\n{tail}")
        self._ring.set(state=layout.STATE_EXCEPTION, exit_code=1, exited_ns=time.monotonic_ns())

    def _uncaught(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if os.getpid() == self._pid:
            _quietly(lambda: self.failed(kind, error, trace))
        self._excepthook(kind, error, trace)

    def _exit(self, status: Any = None, /) -> NoReturn:
        """Note the exit code. An error being handled right now (as torch's mp.spawn does) is why."""
        handled = sys.exc_info()[1]
        if os.getpid() == self._pid and threading.current_thread() is threading.main_thread():
            self._exit_code = status if isinstance(status, int) else int(status is not None)
            if isinstance(handled, Exception) and self._exit_code:
                _quietly(lambda: self.failed(type(handled), handled, handled.__traceback__))
        raise SystemExit(status)

    def _exited(self) -> None:
        if os.getpid() != self._pid:
            return
        _quietly(self._before_exit)
        if self._ring.get("state") == layout.STATE_RUNNING:
            self._ring.set(state=layout.STATE_EXITED, exit_code=self._exit_code)
        self._ring.set(exited_ns=time.monotonic_ns())


def _quietly(action: Callable[[], None]) -> None:
    try:
        action()
    except Exception as error:
        sys.stderr.write(f"evenpace: {error!r}\n")
