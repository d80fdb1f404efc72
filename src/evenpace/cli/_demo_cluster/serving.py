"""Serve the emulated cluster from the command line: fill it, say where it is, keep its heart beating."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from evenpace.demo.cluster import gaps, kubeconfig
from evenpace.demo.cluster.beating import beat
from evenpace.demo.cluster.fleet import filled
from evenpace.demo.cluster.log import Log
from evenpace.demo.cluster.server import Emulator
from evenpace.demo.cluster.store import Store
from evenpace.errors import Problem
from evenpace.terms import say

BEAT = 30.0  # seconds between two signs of life of all nodes


def serve(  # noqa: PLR0913, PLR0917 - one parameter an option
    port: int, nodes: int, ids: tuple[str, ...] | None, lead: Path | None, log: Path | None, lang: str
) -> None:
    """Serve a fleet with the gaps `ids` (None: all that fit together) until Ctrl-C; raises Problem.

    `lead` is where a kubeconfig is written.
    """
    chosen = gaps.together() if ids is None else {id_: gaps.find(id_) for id_ in ids}
    with ExitStack() as stack:
        file = _opened(log, stack) if log else None
        store = filled(nodes)
        for steps in chosen.values():
            gaps.seed(store, steps)
        emulator = stack.enter_context(_listening(store, port, file))
        if lead:
            _write(lead, emulator.url)
        print(say("demo-cluster-at", lang, url=emulator.url, nodes=nodes, gaps=len(chosen)), flush=True)
        if lead:
            print(say("demo-cluster-audit", lang, file=lead), flush=True)
        _until_told(store)


def _opened(path: Path, stack: ExitStack) -> IO[bytes]:
    try:
        return stack.enter_context(path.open("ab"))
    except OSError as error:
        raise Problem(f"cannot write {path}: {error.strerror}; choose another --log") from error


def _listening(store: Store, port: int, file: IO[bytes] | None) -> Emulator:
    try:
        return Emulator(store, port, Log(file))
    except OSError as error:
        reason = error.strerror or error
        raise Problem(f"cannot listen on port {port}: {reason}; choose another --port") from error


def _write(path: Path, url: str) -> None:
    try:
        kubeconfig.write(path, url)
    except OSError as error:
        raise Problem(f"cannot write {path}: {error.strerror}; choose another --kubeconfig") from error


def _until_told(store: Store) -> None:
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    while not told.wait(BEAT):
        beat(store)
