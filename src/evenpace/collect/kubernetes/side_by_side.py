"""A few threads that ask at once, and a time at which nobody waits for them any longer."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import NoReturn, TypeVar

from evenpace.collect.snapshot import Unread, Why

T = TypeVar("T")


class Crew:
    """Run calls side by side until `whole` seconds after its making; a call that hangs is left behind."""

    def __init__(self, workers: int, whole: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._workers = workers
        self._whole = whole
        self._clock = clock
        self._end = clock() + whole

    def results(self, calls: Mapping[str, Callable[[], T]]) -> dict[str, T]:
        """Return what the calls returned, by name, without those that are late; raises what one raises."""
        todo: queue.SimpleQueue[str] = queue.SimpleQueue()
        done: queue.SimpleQueue[tuple[str, Callable[[], T]]] = queue.SimpleQueue()
        for name in calls:
            todo.put(name)
        for _ in range(min(self._workers, len(calls))):
            threading.Thread(target=_work, args=(calls, todo, done, self._over), daemon=True).start()
        found: dict[str, T] = {}
        while len(found) < len(calls):
            try:
                name, result = done.get(timeout=max(self._end - self._clock(), 0.001))
            except queue.Empty:
                break
            found[name] = result()
        return found

    def late(self, what: str) -> Unread:
        """Return the reason of a call that is not among the results."""
        return Unread(Why.TIMEOUT, what, f"the whole took longer than {self._whole:g} s")

    def _over(self) -> bool:
        return self._clock() > self._end


def _work(
    calls: Mapping[str, Callable[[], T]],
    todo: queue.SimpleQueue[str],
    done: queue.SimpleQueue[tuple[str, Callable[[], T]]],
    over: Callable[[], bool],
) -> None:
    while not over():
        try:
            name = todo.get_nowait()
        except queue.Empty:
            return
        done.put((name, _tried(calls[name])))


def _tried(call: Callable[[], T]) -> Callable[[], T]:
    """Return what gives the result of a call, or raises what it raised."""
    try:
        result = call()
    except Exception as error:
        return partial(_raised, error)
    return lambda: result


def _raised(error: Exception) -> NoReturn:
    raise error
