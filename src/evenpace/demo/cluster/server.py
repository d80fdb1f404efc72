"""The emulated API server: HTTP on loopback, a thread a connection, every request logged."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import msgspec

from evenpace.demo.cluster import discovery, tables, watching, writing
from evenpace.demo.cluster.asked import Request, Target, target
from evenpace.demo.cluster.listing import Lists
from evenpace.demo.cluster.log import Entry, Log
from evenpace.demo.cluster.refused import Refused
from evenpace.demo.cluster.resources import Resource
from evenpace.demo.cluster.store import Store

LARGEST = 3 << 20  # bytes of a body, as the real server allows
_GZIP_FROM = 128 << 10  # bytes of an answer, likewise
_HEALTH = ("/healthz", "/livez", "/readyz")
_LOOPBACK = ("127.0.0.1", "localhost")
May = Callable[[str, str], bool]


class Emulator:
    """Serve a store on loopback until `close`; `may(verb, resource)` says what clients have rights for."""

    def __init__(
        self, store: Store, port: int = 0, log: Log | None = None, may: May = lambda _verb, _resource: True
    ) -> None:
        self.store = store
        self.lists = Lists(store)
        self.log = log or Log()
        self.may = may
        self.closing = threading.Event()
        self._server = _Server(self, port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Return the port that is listened on."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Return the server's address."""
        return f"http://127.0.0.1:{self.port}"

    def served(self) -> tuple[Resource, ...]:
        """Return the resources that are served now."""
        return tuple(self.store.resources.values())

    def close(self) -> None:
        """End: watches end, and nothing is answered any more."""
        self.closing.set()
        with self.store.changed:
            self.store.changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Emulator:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, emulator: Emulator, port: int) -> None:
        self.emulator = emulator
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing where a client went away; anything else is a defect and is shown."""
        import sys

        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # one write an answer
    timeout = 3600.0
    server: _Server

    def _any(self) -> None:
        asked: Target | None = None
        try:
            request = self._request()
            plain = self._plain(request)
            if plain is not None:
                self._send(200, plain, "text/plain" if isinstance(plain, bytes) else "application/json")
            else:
                asked = target(request, self.server.emulator.served())
                self._allow(asked)
                self._answer(request, asked)
        except Refused as refused:
            self._send(refused.code, refused.status(), asked=asked)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any  # noqa: N815  names of the base class

    def log_message(self, *_: Any) -> None:
        """Print nothing: the log is `Log`."""

    def _request(self) -> Request:
        headers = {name.lower(): value for name, value in self.headers.items()}
        host = headers.get("host", "").rpartition(":")[0] or headers.get("host", "")
        if host not in _LOOPBACK:  # a page of another site cannot reach the server through a browser
            self.close_connection = True
            raise Refused(403, "only requests to a loopback address are answered")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST or "transfer-encoding" in headers:
            self.close_connection = True
            raise Refused(413, f"a body has a Content-Length of at most {LARGEST} bytes")
        return Request.of(self.command, self.path, headers, self.rfile.read(int(length)))

    def _plain(self, request: Request) -> dict[str, Any] | bytes | None:
        """Return health and discovery, None for any other path."""
        if request.method != "GET":
            return None
        if request.path in _HEALTH:
            return b"ok"
        return discovery.document(request.path, self.server.emulator.served())

    def _allow(self, asked: Target) -> None:
        name = asked.resource.name + (f"/{asked.subresource}" if asked.subresource else "")
        if not self.server.emulator.may(asked.verb, name):
            group = asked.resource.group
            raise Refused(
                403,
                f'{asked.resource.name} is forbidden: User "demo" cannot {asked.verb} resource '
                f'"{asked.resource.plural}" in API group "{group}" at the cluster scope',
            )

    def _answer(self, request: Request, asked: Target) -> None:
        emulator = self.server.emulator
        if asked.verb == "watch":
            self._stream(request, asked, watching.events(request, asked, emulator.store))
        elif asked.verb == "list":
            found = emulator.lists.answer(request, asked)
            self._send(200, self._shaped(request, asked, found["items"], found), asked=asked)
        elif asked.verb == "get":
            one = emulator.store.get(asked.resource.name, asked.namespace, asked.name)
            self._send(200, self._shaped(request, asked, [one], one), asked=asked)
        elif asked.resource.kind == "SelfSubjectAccessReview":
            self._send(201, self._review(request), asked=asked)
        else:
            self._send(*writing.answer(request, asked, emulator.store), asked=asked)

    def _shaped(self, request: Request, asked: Target, found: list[Any], else_: Any) -> Any:
        """Return a Table of the objects where the client asks for one."""
        if not tables.wanted(request.headers.get("accept", "")):
            return else_
        metadata = else_["metadata"] if asked.verb == "list" else {}
        return tables.of(asked.resource.name, found, metadata, self.server.emulator.store.now())

    def _review(self, request: Request) -> dict[str, Any]:
        review = writing.decoded(request)
        asked = ((review or {}).get("spec") or {}).get("resourceAttributes") or {}
        name = ".".join(part for part in (asked.get("resource", ""), asked.get("group", "")) if part)
        return {**review, "status": {"allowed": self.server.emulator.may(asked.get("verb", ""), name)}}

    def _stream(self, request: Request, asked: Target, events: Iterator[watching.Event | None]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        self._log(asked, 200)
        table, first = tables.wanted(request.headers.get("accept", "")), True
        for event in events:
            if self.server.emulator.closing.is_set():
                self.close_connection = True
                return
            if event is None:
                continue
            row = table and event["type"] not in ("BOOKMARK", "ERROR")
            self._chunk(msgspec.json.encode(self._row(asked, event, first) if row else event) + b"\n")
            first = first and not row
        self._chunk(b"")

    def _row(self, asked: Target, event: watching.Event, headed: bool) -> watching.Event:
        now = self.server.emulator.store.now()
        return {**event, "object": tables.of(asked.resource.name, [event["object"]], {}, now, headed)}

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _send(
        self, code: int, document: Any, kind: str = "application/json", asked: Target | None = None
    ) -> None:
        body = document if isinstance(document, bytes) else msgspec.json.encode(document)
        self.send_response(code)
        self.send_header("Content-Type", kind)
        if len(body) > _GZIP_FROM and "gzip" in self.headers.get("Accept-Encoding", ""):
            packer = zlib.compressobj(1, zlib.DEFLATED, 31)
            body = packer.compress(body) + packer.flush()
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self._log(asked, code)  # before anybody can have the answer
        self.wfile.write(body)
        self.wfile.flush()

    def _log(self, asked: Target | None, code: int) -> None:
        emulator = self.server.emulator
        emulator.log.add(
            Entry(
                emulator.store.stamp(),
                self.command,
                self.path,
                asked.verb if asked else "",
                asked.resource.name if asked else "",
                code,
                self.headers.get("User-Agent", "")[:200],
            )
        )
