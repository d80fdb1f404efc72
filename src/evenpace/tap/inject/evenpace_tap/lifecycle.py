"""A worker's life in its ring: heartbeat, where its main thread is, the exception or exit that ends it."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, NoReturn

from . import layout
from .ring import Ring
from .rounds import Rounds

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
        self._beats = Rounds(ring, "heartbeat", self.beat)
        self._also = Rounds(ring, "publishing of groups", also)
        self._ended = threading.Event()
        self._stack = ""
        self._changes = 0

    def run(self) -> None:
        """Beat until stopped."""
        while not self._ended.wait(HEARTBEAT_SECONDS):
            self.round()

    def round(self) -> None:
        """Do all that is done twice a second; neither part keeps the other from being done."""
        self._beats.go()
        self._also.go()

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
    """Writes how the process ends, through sys.excepthook, sys.exit and atexit; each calls on as before.

    A SystemExit may be caught: what was given to sys.exit or exit() is only noted, and written at shutdown.
    """

    def __init__(self, ring: Ring, before_exit: Callable[[], None]) -> None:
        self._ring = ring
        self._before_exit = before_exit
        self._pid = os.getpid()
        self._noted = layout.EXIT_CODE_UNKNOWN
        self._failure = ""  # the exception that was being handled at that sys.exit
        self._frames: list[FrameType] = []
        self._excepthook = sys.excepthook

    def install(self) -> None:
        """Hook into the interpreter."""
        self._frames = _main_frames()
        self._excepthook, sys.excepthook = sys.excepthook, self._uncaught
        sys.exit = self._exit  # mypy: the same signature
        atexit.register(self._exited)
        quitter = getattr(sys.modules.get("_sitebuiltins"), "Quitter", None)
        if quitter is not None:
            quitter.__call__ = self._noting(quitter.__call__)

    def failed(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Record the exception that ends this process."""
        self._write_failure(_described(kind, error, trace), 1)

    def _write_failure(self, text: str, code: int) -> None:
        self._ring.write_text(layout.EXCEPTION_AREA, text)
        self._ring.set(exit_code=code, exited_ns=time.monotonic_ns(), state=layout.STATE_EXCEPTION)

    def _uncaught(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if os.getpid() == self._pid:
            _quietly(lambda: self.failed(kind, error, trace))
        self._excepthook(kind, error, trace)

    def _exit(self, status: Any = None, /) -> NoReturn:
        _quietly(lambda: self._note(status))
        raise SystemExit(status)

    def _noting(self, quit_: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap `exit(...)` and `quit(...)`, which site adds."""

        def noting(quitter: Any, code: Any = None) -> Any:
            _quietly(lambda: self._note(code))
            return quit_(quitter, code)

        return noting

    def _note(self, status: Any) -> None:
        """Note the exit code. An error being handled right now (as torch's mp.spawn does) is why.

        The same code once more passes the first one on (as multiprocessing does in a child).
        """
        if os.getpid() != self._pid or threading.current_thread() is not threading.main_thread():
            return
        code = status & 0xFF if isinstance(status, int) else int(status is not None)
        error = sys.exc_info()[1]
        if code and isinstance(error, Exception):
            self._failure = _described(type(error), error, error.__traceback__)
        elif code != self._noted:
            self._failure = ""
        self._noted = code

    def _exited(self) -> None:
        if os.getpid() != self._pid:
            return
        _quietly(self._before_exit)
        if self._ring.get("state") == layout.STATE_RUNNING:
            _quietly(self._write_exit)
        self._ring.set(exited_ns=time.monotonic_ns())

    def _write_exit(self) -> None:
        code = 0 if _returned(self._frames) else self._noted
        self._frames = []
        if code > 0 and self._failure:
            self._write_failure(self._failure, code)
        else:
            self._ring.set(exit_code=code, state=layout.STATE_EXITED)


def _described(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> str:
    """Return "TypeName: message", a line break and the tail of the traceback."""
    import traceback

    _, room = layout.EXCEPTION_AREA
    head = f"{kind.__name__}: {error}"[: room // 6].replace("\n", " ")
    return head + "\n" + "".join(traceback.format_exception(kind, error, trace))[-room // 2 :]


def _main_frames() -> list[FrameType]:
    """Return the main thread's frames whose return is a normal end: the script's, the outermost."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    frames: list[FrameType] = []
    while frame is not None:
        script = frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__"
        if (script and not frames) or frame.f_back is None:
            frames.append(frame)
        frame = frame.f_back
    return frames


def _returned(frames: list[FrameType]) -> bool:
    """Tell whether each of these frames has ended by returning, not by a SystemExit that passed through it.

    A launcher that runs a script and then the exit functions itself is still within its own frame.
    """
    from opcode import opname

    running, frame = [], sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        running.append(frame)
    last = [opname[frame.f_code.co_code[frame.f_lasti]] for frame in frames if frame not in running[-1:]]
    return bool(last) and all(name.startswith("RETURN_") for name in last)


def _quietly(action: Callable[[], None]) -> None:
    try:
        action()
    except Exception as error:
        sys.stderr.write(f"evenpace: {error!r}\n")
