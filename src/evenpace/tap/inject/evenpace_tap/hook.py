"""Where the tap meets torch: it starts when a worker has joined its job, and never lets an error out."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any

from . import layout, native
from .dispatcher import Dispatcher
from .groups import Groups, backend_keys
from .lifecycle import Ending, Heartbeat
from .probe import Pauses
from .ring import Ring


class Session:
    """This process's ring and all that writes into it. One a process, however often it joins and leaves."""

    def __init__(self) -> None:
        node = os.environ.get("EVENPACE_NODE") or os.uname().nodename
        name = f"{node.replace('/', '_')}.{os.getpid()}{layout.RING_SUFFIX}"
        path = os.path.join(os.environ["EVENPACE_RING_DIR"], name)  # noqa: PTH118 (pathlib is slow to import)
        self.ring = Ring(path, node, layout.TAP_NATIVE)
        self.ring.set(world_size=_number("WORLD_SIZE"), local_rank=_number("LOCAL_RANK"))
        self.ending = Ending(self.ring, self._stop)
        self._groups: Groups | None = None
        self.heartbeat: Heartbeat | None = None
        self._native: native.Native | None = None
        self._dispatcher: Dispatcher | None = None

    def join(self, distributed: ModuleType) -> None:
        """Note rank and groups; at the first time also begin to record."""
        if self.heartbeat is None:
            self._begin(distributed)
        elif self._dispatcher is not None:
            self._dispatcher.restart()
        self.publish()
        self.ring.set(world_size=distributed.get_world_size(), rank=distributed.get_rank())

    def _begin(self, distributed: ModuleType) -> None:
        try:
            self._record(distributed)
        except Exception as error:
            self.ring.note("operations", f"operations are not seen: {error!r}")
        self._groups = Groups(distributed, self.ring.path, self._sees)
        self._count_optimizer_steps()
        self.ending.install()
        self.heartbeat = Heartbeat(self.ring, self.publish)
        self.heartbeat.beat()
        self.heartbeat.start()

    def failed_early(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """Record the exception that ends a worker which has not joined."""
        self.ending.failed(kind, error, trace)
        self.ring.set(rank=_number("RANK"))

    def publish(self) -> None:
        """Publish groups that are new, and say which of them are out of the tap's sight."""
        if self._groups is None:
            return
        self._groups.publish()
        if self._groups.unseen:
            unseen = ", ".join(self._groups.unseen)
            self.ring.note("groups", f"not seen: operations of groups {unseen}: unknown backend")

    def say(self, kind: str, first: int, second: int) -> None:
        """Write a record of what a loop says by whoever writes the records of this ring."""
        (self._native or self.ring).say(layout.KINDS.index(kind), first, second)

    def _sees(self, backend: int) -> bool:
        return self._native is None or self._native.binds(backend)

    def _record(self, distributed: ModuleType) -> None:
        why = self._native_refused(distributed)
        if why:
            self.ring.set(tap_kind=layout.TAP_PYTHON)
            self.ring.note("operations", f"Python tap: {why}")
            self._dispatcher = Dispatcher(self.ring, distributed)
            self._dispatcher.install()

    def _native_refused(self, distributed: ModuleType) -> str:
        """Start the native part, or say why it does not record."""
        if os.environ.get("EVENPACE_TAP") != "native":
            return os.environ.get("EVENPACE_TAP_NOTE") or "asked for"
        library = native.preloaded()
        if library is None:
            return "the native part is not preloaded into this process"
        unbound = [
            name
            for name, key in backend_keys(distributed, distributed.group.WORLD).items()
            if not library.binds(key)
        ]
        if unbound:
            return f"the native part does not bind to this torch's backend {', '.join(unbound)}"
        self._native = library
        return (
            ""
            if library.open(self.ring.path)
            else "the native part cannot map the ring or find torch's functions"
        )

    def _count_optimizer_steps(self) -> None:
        optimizer = sys.modules.get("torch.optim.optimizer")
        if optimizer is None:
            return
        steps = 0
        pauses = Pauses(self.ring)

        def count(*_: Any) -> None:
            nonlocal steps
            if _State.session is not self:  # in a forked child
                return
            steps += 1
            self.ring.set(optimizer_steps=steps)
            pauses.after_step(steps)

        optimizer.register_optimizer_step_post_hook(count)

    def _stop(self) -> None:
        if self.heartbeat is not None:
            self.heartbeat.stop()
        if self._dispatcher is not None:
            self._dispatcher.stop()
        self.publish()


class _State:
    session: Session | None = None
    refused = False  # no ring can be made: said once, never tried again
    lock = threading.Lock()


def _session() -> Session | None:
    """Return this worker's session, made at the first call; None in a child of a worker, which is none.

    (The process in which torch saves a checkpoint asynchronously joins a group of its own as that rank.)
    """
    with _State.lock:
        pid = str(os.getpid())
        if _State.session is None and os.environ.setdefault("EVENPACE_WORKER_PID", pid) != pid:
            return None
        if _State.session is None and not _State.refused:
            try:
                _State.session = Session()
                os.register_at_fork(after_in_child=_forget)
            except OSError as error:
                _State.refused = True
                sys.stderr.write(f"evenpace: no ring for this worker, so it is not watched: {error}\n")
        return _State.session


def current() -> Session | None:
    """Return this worker's session where it has one by now."""
    return _State.session


def _forget() -> None:
    """In a forked child: it is not the worker and leaves the worker's ring alone."""
    _State.session, _State.refused = None, True


def distributed_loaded(module: ModuleType) -> None:
    """Wrap what makes process groups; called right after torch.distributed.distributed_c10d was executed."""
    _call_after(module, "init_process_group", lambda: _joined(module))
    for name in ("new_group", "split_group"):
        if hasattr(module, name):
            _call_after(module, name, _grouped)


def failed_early(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Record an uncaught exception of a worker that never joined; one that joined records its own."""
    if _State.session is None:
        session = _session()
        if session is not None:
            session.failed_early(kind, error, trace)


def _call_after(module: ModuleType, name: str, after: Callable[[], None]) -> None:
    function = getattr(module, name)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        try:
            after()
        except Exception as error:
            sys.stderr.write(f"evenpace: this worker is not watched in full: {error!r}\n")
        return result

    setattr(module, name, wrapper)


def _joined(module: ModuleType) -> None:
    session = _session()
    if session is not None:
        session.join(module)


def _grouped() -> None:
    if _State.session is not None:
        _State.session.publish()


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else -1
