"""A small emulated cluster, and a way to ask it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from typing import Any

import pytest
from tests.demo.cluster.made import pod

from evenpace.demo.cluster.server import Emulator
from evenpace.demo.cluster.store import Store

Ask = Callable[..., tuple[int, Any]]


@pytest.fixture
def store() -> Store:
    """Return a store with a namespace, two nodes and three pods."""
    store = Store()
    store.create("namespaces", {"metadata": {"name": "ml"}})
    for name in ("gpu-1", "gpu-2"):
        ready = {"type": "Ready", "status": "True"}
        store.create("nodes", {"metadata": {"name": name}, "spec": {}, "status": {"conditions": [ready]}})
    for number in range(3):
        store.create("pods", pod(f"train-{number}", app="train", rank=str(number)))
    return store


@pytest.fixture
def emulator(store: Store) -> Iterator[Emulator]:
    """Return a server over the store."""
    with Emulator(store) as emulator:
        yield emulator


@pytest.fixture
def ask(emulator: Emulator) -> Ask:
    """Return a helper that sends one request and returns (code, document)."""

    def send(method: str, target: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", emulator.port, timeout=20)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            named.setdefault("Content-Type", "application/json")
        connection.request(method, target, None if body is None else json.dumps(body), named)
        answer = connection.getresponse()
        raw = answer.read()
        connection.close()
        kind = answer.headers.get("Content-Type", "")
        return answer.status, json.loads(raw) if kind == "application/json" else raw

    return send
