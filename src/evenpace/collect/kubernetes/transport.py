"""The one door to the API of Kubernetes. It can send GET, and nothing else.

What a server answers is bounded in time and size, and every way to fail ends in one exception, `Refusal`.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import msgspec
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.models import User
from lightkube.core.exceptions import ConfigError

from evenpace import __version__
from evenpace.collect.kubernetes.config import Access
from evenpace.collect.kubernetes.fields import text
from evenpace.collect.snapshot import Why
from evenpace.errors import Problem

_OK = 200
GONE = 410  # the page that was asked for is no longer known
UNKNOWN = "401"  # how the details of a refusal begin where the server does not know who asks
_BUSY = 429
_WHY = {401: Why.FAILED, 403: Why.FORBIDDEN, 404: Why.ABSENT}
_PAUSE = 0.2  # seconds, after a connection that was cut
_PIECE = 1 << 20  # bytes unpacked at once
_CREDENTIALS = (ConfigError, OSError, ValueError, LookupError, TypeError, RecursionError)
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound what reading may cost: seconds, bytes of JSON, and how often it is asked again.

    A server is asked again where it was busy or its answer was cut.
    """

    silence: float = 20.0
    request: float = 60.0
    whole: float = 300.0
    answer: int = 64 << 20
    total: int = 4 << 30
    retries: int = 4
    longest_wait: float = 5.0


class Refusal(Exception):
    """Say why there is no answer; `status` is the HTTP status, 0 where there was none."""

    def __init__(self, why: Why, detail: str, status: int = 0) -> None:
        super().__init__(detail)
        self.why = why
        self.detail = " ".join(detail.split())[:200]
        self.status = status


class Transport:
    """Send GET to one server; may be used by several threads at once."""

    def __init__(
        self,
        access: Access,
        limits: Limits,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare, without sending anything; raises Problem where certificates cannot be read."""
        self.limits = limits
        self.server = _host(access)
        self.told: datetime | None = None  # the server's time, as last told
        self._clock = clock
        self._sleep = sleep
        self._left = limits.total
        self._lock = threading.Lock()
        self._tls = {"sni_hostname": access.tls_name} if access.tls_name else {}
        self._asking = 0
        self._closing = False
        self._client = _client(access, limits)

    def close(self) -> None:
        """Close the connections, those in use as soon as they no longer are."""
        with self._lock:
            self._closing = True
            idle = not self._asking
        if idle:
            self._client.close()

    def get(self, path: str, parameters: Mapping[str, str | int] | None = None) -> bytes:
        """Return the body of the answer to GET; raises Refusal."""
        with self._lock:
            self._asking += 1
        try:
            return self._patiently(path, parameters or {})
        finally:
            with self._lock:
                self._asking -= 1
                last = self._closing and not self._asking
            if last:
                self._client.close()

    def _patiently(self, path: str, parameters: Mapping[str, str | int]) -> bytes:
        for _ in range(self.limits.retries):
            try:
                return self._once(path, parameters)
            except _Again as again:
                self._sleep(again.wait)
        return self._once(path, parameters)

    def _once(self, path: str, parameters: Mapping[str, str | int]) -> bytes:
        end = self._clock() + self.limits.request
        try:
            with self._client.stream("GET", path, params=parameters, extensions=self._tls) as answer:
                self._note(answer.headers.get("date", ""))
                body = b"".join(self._pieces(answer, end))
                if answer.status_code != _OK:
                    raise self._refusal(answer, body)
                return body
        except Refusal:
            raise
        except httpx2.TimeoutException as error:
            raise Refusal(Why.TIMEOUT, f"no answer within {self.limits.silence:g} s") from error
        except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError) as error:
            wait = min(_PAUSE, self.limits.longest_wait)
            raise _Again(Why.FAILED, str(error) or type(error).__name__, 0, wait) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:  # such as a token of pages that is too long
            raise Refusal(Why.FAILED, str(error) or type(error).__name__) from error
        except _CREDENTIALS as error:
            raise Refusal(Why.FAILED, f"credentials: {type(error).__name__}: {error}") from error

    def _pieces(self, answer: httpx2.Response, end: float) -> Iterator[bytes]:
        """Yield the body, unpacked, as long as it is neither too slow nor too large."""
        size = 0
        for piece in _unpacked(answer):
            size += len(piece)
            if self._clock() > end:
                raise Refusal(Why.TIMEOUT, f"took longer than {self.limits.request:g} s")
            if size > self.limits.answer:
                raise Refusal(Why.TOO_LARGE, f"an answer of more than {self.limits.answer >> 20} MiB")
            with self._lock:
                self._left -= len(piece)
            if self._left < 0:
                raise Refusal(Why.TOO_LARGE, f"answers of more than {self.limits.total >> 20} MiB in all")
            yield piece

    def _note(self, date: str) -> None:
        try:
            told = parsedate_to_datetime(date).astimezone(UTC)
        except (ValueError, OverflowError, TypeError):
            return
        with self._lock:
            self.told = max(told, self.told or told)

    def _refusal(self, answer: httpx2.Response, body: bytes) -> Exception:
        status = answer.status_code
        detail = f"{status} {answer.reason_phrase}: {_message(body)}".rstrip(": ")
        if status == _BUSY:
            return _Again(Why.FAILED, detail, status, self._wait(answer.headers.get("retry-after", "")))
        return Refusal(_WHY.get(status, Why.FAILED), detail, status)

    def _wait(self, asked: str) -> float:
        seconds = float(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 else 1.0
        return min(seconds, self.limits.longest_wait)


class _Again(Refusal):
    def __init__(self, why: Why, detail: str, status: int, wait: float) -> None:
        super().__init__(why, detail, status)
        self.wait = wait


def _host(access: Access) -> str:
    """Return the server as findings may show it, without what an address can carry besides."""
    try:
        url = httpx2.URL(access.config.cluster.server)
    except (httpx2.InvalidURL, TypeError) as error:
        raise Problem(f"the context {access.name!r} names no server: {error}") from error
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}{url.path}".rstrip("/")


def _client(access: Access, limits: Limits) -> httpx2.Client:
    config = access.config._replace(user=access.config.user or User())
    known = ConnectionParams(timeout=httpx2.Timeout(limits.silence), proxy=access.proxy)
    try:
        return httpx2.Client(
            **known.httpx_params(config),
            follow_redirects=False,
            event_hooks={"request": [_only_get]},
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "gzip",
                "User-Agent": f"evenpace/{__version__} (reads only)",
                **access.headers,
            },
        )
    except (*_CREDENTIALS, httpx2.InvalidURL) as error:
        raise Problem(f"the context {access.name!r} cannot be used: {str(error)[:200]}") from error


def _only_get(request: httpx2.Request) -> None:
    """Stop whatever else a plug-in for credentials, or a change of this file, would send."""
    if request.method != "GET":
        raise ValueError(f"{request.method} is never sent")


def _unpacked(answer: httpx2.Response) -> Iterator[bytes]:
    """Yield the body in bounded pieces, however far a packed one would unfold."""
    packing = answer.headers.get("content-encoding", "identity").strip().lower()
    if packing == "identity":
        yield from answer.iter_raw()
        return
    if packing != "gzip":
        raise Refusal(Why.MALFORMED, f"packed as {packing[:20]}, which was not asked for")
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        for raw in answer.iter_raw():
            rest = raw
            while rest and not unpack.eof:
                yield unpack.decompress(rest, _PIECE)
                rest = unpack.unconsumed_tail
        yield unpack.flush()
    except zlib.error as error:
        raise Refusal(Why.MALFORMED, f"a damaged body: {error}") from error


def _message(body: bytes) -> str:
    """Return what a Status object says."""
    try:
        decoded: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return ""
    return text(decoded, "message")
