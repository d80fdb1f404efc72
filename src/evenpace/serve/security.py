"""Who may ask, and for how much: what stands before every page, file and answer of the site.

Pure ASGI middlewares, from the outside in: headers that keep a page from doing anything but show itself;
limits on method, address and body; the Host header (another site's name that resolves to this machine gets no
answer); where a request that is more than a look comes from; and the token, where there is one: compared in
constant time, never in a cookie, never logged.
"""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import Response

from evenpace.terms import LANGUAGES, say

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
LONGEST_URL = 8 * 1024
LARGEST_BODY = 64 * 1024
LARGEST_UPLOAD = 64 * 1024 * 1024
COOKIE = "evenpace-token"


@dataclass(frozen=True, slots=True)
class Taken:
    """Say what a path takes: methods, bytes of body, and the sentence for a body with more."""

    methods: frozenset[str] = frozenset({"GET", "HEAD"})
    body: int = LARGEST_BODY
    beyond: str = "access-body"


LOOKS = Taken()
# A path that is not here only reads.
TAKEN: dict[str, Taken] = {
    "/diagnose": Taken(frozenset({"GET", "HEAD", "POST"}), LARGEST_UPLOAD, "access-upload"),
    "/api/diagnose": Taken(frozenset({"POST"}), LARGEST_UPLOAD, "access-upload"),
}

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer a form on our own page would say `Origin: null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def install(app: Starlette, token: str | None, hosts: frozenset[str]) -> None:
    """Put the middlewares around `app`; `hosts` are the names, without a port, that it answers to."""
    if token is not None:
        app.add_middleware(TokenGuard, token=token)
    app.add_middleware(OriginGuard)
    app.add_middleware(HostGuard, hosts=hosts)
    app.add_middleware(Limits)
    app.add_middleware(SafeHeaders)


class SafeHeaders:
    """Set the headers of HEADERS on each response, also where the app fails without having answered."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; a websocket is closed."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
            await send(message)

        try:
            await self.app(scope, receive, guarded)
        except Exception:
            if not started:
                await refusal(scope, 500, "access-defect")(scope, receive, guarded)
            raise


class Limits:
    """Refuse other methods, long addresses and large bodies unread; answer HEAD as GET without its body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif answer := _beyond(scope):
            await answer(scope, receive, send)
        elif scope["method"] == "HEAD":
            await self.app({**scope, "method": "GET"}, receive, _without_body(send))
        else:
            await self.app(scope, receive, send)


class HostGuard:
    """Answer only requests for one of our names, whatever the port: a defence against DNS rebinding."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app = app
        self.hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            named = Headers(scope=scope).getlist("host")
            if len(named) != 1 or _host(named[0]) not in self.hosts:
                await refusal(scope, 400, "access-host")(scope, receive, send)
                return
        await self.app(scope, receive, send)


class OriginGuard:
    """Refuse what another site's page sends with a method that is more than a look.

    Sec-Fetch-Site decides where it is there: no script can set it, and a browser sends it to loopback and
    over TLS. Else Origin must name the host that was asked. A request with neither comes from no page of a
    browser (these send Origin with each POST) and passes: it is a command line's.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        acts = scope["type"] == "http" and scope["method"] not in LOOKS.methods
        if acts and not _from_here(Headers(scope=scope)):
            await refusal(scope, 403, "access-origin")(scope, receive, send)
        else:
            await self.app(scope, receive, send)


class TokenGuard:
    """Answer those who show the token: in a header, by the cookie, or once in the address, which sets it."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app = app
        self._token = token.encode()
        self._proof = hmac.digest(self._token, b"evenpace serve: cookie", "sha256").hex()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        shown = [value for name, value in query if name == "token"]
        if shown and self._is_token(shown[-1]):
            others = [(name, value) for name, value in query if name != "token"]
            await self._enter(scope, others)(scope, receive, send)
        elif self._known(Headers(scope=scope)):
            await self.app(scope, receive, _private(send))
        else:
            answer = refusal(scope, 401, "access-token", again=True)
            answer.headers["WWW-Authenticate"] = 'Bearer realm="evenpace"'
            await answer(scope, receive, send)

    def _known(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(given.strip()):
            return True
        proof = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return hmac.compare_digest(proof.encode(), self._proof.encode())

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token)

    def _enter(self, scope: Scope, query: list[tuple[str, str]]) -> Response:
        answer = Response(status_code=303)
        answer.headers["Location"] = _address(scope["path"], query)
        answer.headers["Cache-Control"] = "no-store"
        answer.set_cookie(COOKIE, self._proof, path="/", httponly=True, samesite="strict")
        return answer


def refusal(scope: Scope, status: int, key: str, *, again: bool = False, **details: object) -> Response:
    """Return the answer to a request that is refused: JSON under /api, else a page in both languages.

    `again` adds a link to the page itself: a cookie that is SameSite=Strict is not sent along when one comes
    from another site's link, but is from here.
    """
    headers = {"Cache-Control": "no-store"}
    if scope["path"] == "/api" or scope["path"].startswith("/api/"):
        body = json.dumps({"detail": say(key, "en", **details)})
        return Response(body, status, headers, "application/json")
    sentences = [f'<p lang="{lang}">{escape(say(key, lang, **details))}</p>' for lang in LANGUAGES]
    if again:
        here = escape(_address(scope["path"], parse_qsl(scope["query_string"].decode("latin-1"))))
        words = {lang: escape(say("access-again", lang)) for lang in LANGUAGES}
        sentences += [f'<p lang="{lang}"><a href="{here}">{text}</a></p>' for lang, text in words.items()]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>evenpace</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"></head><body><main>'
        f"<h1>{status}</h1>{''.join(sentences)}</main></body></html>"
    )
    return Response(page, status, headers, "text/html")


def _beyond(scope: Scope) -> Response | None:
    """Return the answer to a request that is beyond a limit."""
    taken = TAKEN.get(scope["path"], LOOKS)
    if scope["method"] not in taken.methods:
        allowed = ", ".join(sorted(taken.methods))
        answer = refusal(scope, 405, "access-method", methods=allowed)
        answer.headers["Allow"] = allowed
        return answer
    path = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogatepass")
    if len(path) + len(scope["query_string"]) > LONGEST_URL:
        return refusal(scope, 414, "access-url", bytes=LONGEST_URL)
    headers = Headers(scope=scope)
    if "transfer-encoding" in headers:
        return refusal(scope, 411, "access-length")
    most = taken.body if scope["method"] == "POST" else LARGEST_BODY
    if not _within(headers.get("content-length", "0"), most):
        return refusal(scope, 413, taken.beyond, bytes=most, size=f"{most >> 20} MB")
    return None


def _within(length: str, most: int) -> bool:
    return length.isascii() and length.isdigit() and len(length) < 10 and int(length) <= most


def _from_here(headers: Headers) -> bool:
    """Tell whether a request comes from this site's own pages, or from no page at all."""
    if sites := headers.getlist("sec-fetch-site"):
        return sites in (["same-origin"], ["none"])
    if origins := headers.getlist("origin"):
        return len(origins) == 1 and _named(origins[0]) == headers.get("host", "").lower()
    return True


def _named(origin: str) -> str:
    """Return host and port of an origin, empty where it is not well-formed or `null`."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _host(header: str) -> str:
    """Return the name in a Host header, without its port; empty where it is not well-formed."""
    if header.startswith("["):
        name, closed, port = header[1:].partition("]")
        well_formed = bool(closed) and (not port or (port[0] == ":" and _is_port(port[1:])))
    else:
        name, colon, port = header.partition(":")
        well_formed = not colon or _is_port(port)
    return name.lower() if well_formed else ""


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65535


def _address(path: str, query: list[tuple[str, str]]) -> str:
    """Return an address on this site; never one that names another host, as `//example.org/` would."""
    kept = [(name, value) for name, value in query if name != "token"]
    local = quote("/" + path.lstrip("/\\"), safe="/:@!$&'()*+,;=~", errors="replace")
    return f"{local}?{urlencode(kept)}" if kept else local


def _without_body(send: Send) -> Send:
    async def head(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return head


def _private(send: Send) -> Send:
    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).setdefault("Cache-Control", "private")
        await send(message)

    return marked
