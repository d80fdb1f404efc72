"""A server that answers as a test says: whole answers by path, or bytes straight on the wire."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

Answer = tuple[int, bytes] | tuple[int, bytes, dict[str, str]] | Callable[[socket.socket], None]
Script = Callable[[str, dict[str, str]], Answer]


class Scripted:
    """Answer every request on loopback by `script(path, parameters)`; `asked` holds the first lines."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self.script = script
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._tls = tls
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes who accepts
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        try:
            connection = self._tls.wrap_socket(plain, server_side=True) if self._tls else plain
        except OSError:
            plain.close()
            return
        with connection, connection.makefile("rb") as lines:
            try:
                while line := lines.readline():
                    self.asked.append(line.decode().strip())
                    heads = iter(lambda: lines.readline().decode().strip(), "")
                    self.headers.append({k.lower(): v for k, _, v in (one.partition(": ") for one in heads)})
                    url = urlsplit(line.split()[1].decode())
                    parameters = {key: values[0] for key, values in parse_qs(url.query).items()}
                    if not self._answer(connection, self.script(url.path, parameters)):
                        return
            except OSError:
                return

    def _answer(self, connection: socket.socket, answer: Answer) -> bool:
        if callable(answer):
            answer(connection)
            return False
        status, body, more = answer if len(answer) == 3 else (*answer, {})
        heads = {"Content-Type": "application/json", "Content-Length": str(len(body)), **more}
        head = "".join(f"{key}: {value}\r\n" for key, value in heads.items())
        connection.sendall(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + body)
        return True


def said(document: Any) -> tuple[int, bytes]:
    """Answer 200 with a document."""
    return 200, json.dumps(document).encode()


GROUPS = {
    "groups": [
        {"name": "batch", "versions": [{"version": "v1"}]},
        {"name": "apps", "versions": [{"version": "v1"}]},
        {"name": "jobset.x-k8s.io", "versions": [{"version": "v1alpha2"}]},
    ]
}
RESOURCES = {
    "/api/v1": ("nodes", "pods", "events", "configmaps", "persistentvolumeclaims"),
    "/apis/batch/v1": ("jobs",),
    "/apis/apps/v1": ("daemonsets",),
    "/apis/jobset.x-k8s.io/v1alpha2": ("jobsets",),
}


def discovery(path: str) -> tuple[int, bytes] | None:
    """Answer as a small cluster does where it is asked what it serves."""
    if path == "/version":
        return said({"gitVersion": "v1.33.1"})
    if path == "/apis":
        return said(GROUPS)
    if path in RESOURCES:
        names = RESOURCES[path]
        listed = [{"name": one, "namespaced": one != "nodes", "verbs": ["get", "list"]} for one in names]
        return said({"resources": listed})
    return None


def kubeconfig(server: str, user: dict[str, Any], cluster: dict[str, Any] | None = None) -> str:
    """Return a kubeconfig of one context, `it`."""
    return yaml.safe_dump(
        {
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "clusters": [{"name": "it", "cluster": {"server": server, **(cluster or {})}}],
            "users": [{"name": "it", "user": user}],
        }
    )
