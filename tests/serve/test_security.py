"""What stands before the site: names, methods, sizes, headers and the token."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from tests.serve.client import Client

from evenpace.serve import security

TOKEN = "correct-horse-battery-staple"  # noqa: S105


async def hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"hello {request.method} {request.url.query}")


async def fail(request: Request) -> PlainTextResponse:
    raise RuntimeError("a defect")


async def stream(request: Request) -> StreamingResponse:
    async def parts() -> AsyncIterator[str]:
        yield "one"
        yield "two"

    return StreamingResponse(parts())


def site(token: str | None = None, hosts: Iterable[str] = security.LOOPBACK) -> Starlette:
    routes = [
        Route("/stream", stream),
        Route("/fail", fail),
        Route("/{path:path}", hello, methods=["GET", "POST"]),
    ]
    app = Starlette(routes=routes)
    security.install(app, token, frozenset(hosts))
    return app


def client(token: str | None = None, **options: Any) -> Client:
    return Client(site(token), **options)


@pytest.mark.parametrize("path", ["/x", "/api/x", "/fail", "/"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "TRACE"])
def test_every_answer_carries_the_headers(path: str, method: str) -> None:
    answer = client(raises=False).request(method, path)
    for name, value in security.HEADERS.items():
        assert answer.headers[name] == value
    assert "access-control-allow-origin" not in answer.headers


def test_no_script_or_style_may_be_inline() -> None:
    assert "unsafe" not in security.CONTENT_SECURITY_POLICY
    assert "default-src 'none'" in security.CONTENT_SECURITY_POLICY


def test_another_origin_gets_no_permission() -> None:
    preflight = {"Origin": "https://example.org", "Access-Control-Request-Method": "GET"}
    answer = client().request("OPTIONS", "/api/x", headers=preflight)
    assert answer.status_code == 405
    assert [name for name in answer.headers if name.startswith("access-control")] == []


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8710", "[::1]:8710", "[::1]"])
def test_names_of_this_machine_are_answered(host: str) -> None:
    assert client().get("/x", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8710", "evil.example:localhost"),
        *(
            "",
            "[::1",
            "::1",
            "[::1]x",
            "[]",
            "localhost:port",
            "localhost:80:80",
            "user@localhost",
        ),
        *("localhost/x", " ", "localhost,evil.example", "2130706433", "127.1"),
    ],
)
def test_other_names_are_not(host: str) -> None:
    answer = client().get("/x", headers={"Host": host})
    assert answer.status_code == 400
    assert "hello" not in answer.text
    assert 'lang="ko"' in answer.text


def raw(
    app: Starlette,
    *,
    path: str = "/x",
    query: bytes = b"",
    headers: Any = (),
    kind: str = "http",
    method: str = "GET",
) -> Any:
    """Ask the app below HTTP and return its messages; reading the body fails."""
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("the body was read")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "raw_path": path.encode("utf-8", "replace"),
        "query_string": query,
        "headers": list(headers),
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 8710),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
    asyncio.run(app(scope, receive, send))
    return sent


@pytest.mark.parametrize("hosts", [[], [b"localhost", b"localhost"], [b"localhost", b"evil.example"]])
def test_the_host_is_named_once(hosts: list[bytes]) -> None:
    assert raw(site(), headers=[(b"host", host) for host in hosts])[0]["status"] == 400


def test_websockets_are_closed() -> None:
    assert raw(site(), kind="websocket") == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    "method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "X"]
)
def test_other_methods_are_refused(method: str) -> None:
    app = site()
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": "/x", "query_string": b"", "headers": []}
    asyncio.run(app(scope, None, send))  # type: ignore[arg-type]  # the body is not read
    assert sent[0]["status"] == 405
    assert (b"allow", b"GET, HEAD") in sent[0]["headers"]


def test_a_path_takes_another_method_only_when_it_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert client().request("POST", "/drop").status_code == 405
    monkeypatch.setitem(security.TAKEN, "/drop", security.Taken(frozenset({"GET", "HEAD", "POST"})))
    assert client().request("POST", "/drop").status_code == 200
    assert client().request("POST", "/drop/").headers["allow"] == "GET, HEAD"
    assert client().request("PUT", "/drop").headers["allow"] == "GET, HEAD, POST"
    monkeypatch.setitem(security.TAKEN, "/drop", security.Taken(frozenset({"POST"})))
    assert client().get("/drop").headers["allow"] == "POST"


@pytest.mark.parametrize("path", ["/diagnose", "/api/diagnose"])
def test_a_path_may_take_a_larger_body_with_one_method_only(path: str) -> None:
    most = security.LARGEST_UPLOAD
    for method, length, status in (
        ("POST", most, 200),
        ("POST", most + 1, 413),
        ("POST", security.LARGEST_BODY + 1, 200),
        ("GET", security.LARGEST_BODY + 1, 413),
    ):
        if method in security.TAKEN[path].methods:
            headers = [(b"host", b"localhost"), (b"content-length", str(length).encode())]
            sent = raw(site(), path=path, headers=headers, method=method)
            assert sent[0]["status"] == status
            assert status == 200 or b"evenpace diagnose" in sent[1]["body"] or method == "GET"
    chunked = [(b"host", b"localhost"), (b"transfer-encoding", b"chunked")]
    assert raw(site(), path=path, headers=chunked, method="POST")[0]["status"] == 411


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://localhost:8710"}, 200),
        ({"Origin": "HTTP://LOCALHOST:8710"}, 200),
        ({"Origin": "https://localhost:8710"}, 200),  # a proxy in front may hold the certificate
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": "http://[x"}, 403),
        ({"Origin": "http://localhost"}, 403),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Origin": "http://127.0.0.1:8710"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://localhost:8710.evil.example"}, 403),
        ({"Origin": "http://localhost:8710@evil.example"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),  # another port of this machine is another site's
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": ""}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:8710"}, 403),
    ],
)
@pytest.mark.parametrize("path", ["/diagnose", "/api/diagnose"])
def test_another_sites_page_cannot_send(path: str, headers: dict[str, str], status: int) -> None:
    answer = client().request("POST", path, headers=headers)
    assert answer.status_code == status
    assert ("hello" in answer.text) == (status == 200)


def test_two_origins_are_none() -> None:
    for name, value in ((b"origin", b"http://localhost"), (b"sec-fetch-site", b"same-origin")):
        headers = [(b"host", b"localhost"), (name, value), (name, value)]
        assert raw(site(), path="/diagnose", headers=headers, method="POST")[0]["status"] == 403


def test_looking_is_free_whatever_the_origin() -> None:
    headers = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert client().get("/diagnose", headers=headers).status_code == 200


def test_sending_needs_the_token() -> None:
    assert client(TOKEN).request("POST", "/diagnose").status_code == 401
    shown = {"Authorization": f"Bearer {TOKEN}"}
    assert client(TOKEN).request("POST", "/diagnose", headers=shown).status_code == 200


@pytest.mark.parametrize("path", ["/x", "/stream", "/api/x"])
def test_head_is_get_without_its_body(path: str) -> None:
    got, head = client().get(path), client().request("HEAD", path)
    assert (head.status_code, head.headers, head.content) == (200, got.headers, b"")


def test_addresses_have_a_limit() -> None:
    longest = security.LONGEST_URL - len("/xq=")
    assert client().get("/x?q=" + "a" * longest).status_code == 200
    refused = client().get("/x?q=" + "a" * (longest + 1))
    assert refused.status_code == 414
    assert str(security.LONGEST_URL) in refused.text
    assert client().get("/" + "a" * security.LONGEST_URL).status_code == 414


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("content-length", "65536", 200),
        ("content-length", "65537", 413),
        ("content-length", "9" * 400, 413),
        ("content-length", "-1", 413),
        ("content-length", "²", 413),
        ("content-length", "1e3", 413),
        ("transfer-encoding", "chunked", 411),
    ],
)
def test_large_bodies_are_refused_unread(name: str, value: str, status: int) -> None:
    headers = [(b"host", b"localhost"), (name.encode(), value.encode("latin-1"))]
    assert raw(site(), headers=headers)[0]["status"] == status


@pytest.mark.parametrize("path", ["/api", "/api/x"])
def test_refusals_of_the_api_are_json(path: str) -> None:
    answer = client().get(path, headers={"Host": "evil.example"})
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.json()) == {"detail"}


def test_a_defect_is_a_page_and_still_raised() -> None:
    assert client(raises=False).get("/fail").status_code == 500
    with pytest.raises(RuntimeError, match="a defect"):
        client().get("/fail")


# The token


def test_without_the_token_nothing_is_shown() -> None:
    for path in ("/x", "/static/x.css", "/api/x", "/fail", "/x?token=", "/x?token=wrong", f"/x?tok={TOKEN}"):
        answer = client(TOKEN).get(path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.headers["cache-control"] == "no-store"
        assert "hello" not in answer.text
    page = client(TOKEN).get("/x?q=%22%3E%3Cscript%3E").text
    assert "<script" not in page
    assert {"?token=", 'lang="ko"', "Authorization: Bearer"} <= set(
        re.findall(r'\?token=|lang="ko"|Authorization: Bearer', page)
    )
    assert client(TOKEN).get("/api/x").json()["detail"].startswith("This site needs its token")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_the_token_in_a_header(scheme: str) -> None:
    answer = client(TOKEN).get("/x", headers={"Authorization": f"{scheme} {TOKEN}"})
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    assert answer.headers["cache-control"] == "private"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Basic {TOKEN}",
        TOKEN,
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        "Bearer é",
    ],
)
def test_a_wrong_header(header: str) -> None:
    answer = client(TOKEN).get("/x", headers={"Authorization": header.encode()})
    assert answer.status_code == 401


def test_the_token_in_the_address_once_sets_a_cookie() -> None:
    browser = client(TOKEN)
    entered = browser.get(f"/x?q=a%26b&token={TOKEN}&lang=ko")
    assert entered.status_code == 303
    assert entered.headers["location"] == "/x?q=a%26b&lang=ko"
    cookie = entered.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert TOKEN not in cookie
    assert browser.get(entered.headers["location"]).text == "hello GET q=a%26b&lang=ko"
    assert browser.get("/api/y").status_code == 200
    browser.cookies.clear()
    assert browser.get("/x").status_code == 401


def test_the_cookie_of_another_token_is_worth_nothing() -> None:
    other = "another-token-of-ours"
    proof = client(other).get(f"/x?token={other}").cookies[security.COOKIE]
    for value in (proof, TOKEN, "", "é"):
        answer = client(TOKEN).get("/x", headers={"Cookie": f"{security.COOKIE}={value}".encode()})
        assert answer.status_code == 401


def test_the_token_does_not_open_the_site_to_other_names() -> None:
    answer = client(TOKEN).get("/x", headers={"Host": "evil.example", "Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 400


def test_the_token_is_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="evenpace"):
        client(TOKEN).get(f"/x?token={TOKEN}")
        client(TOKEN).get("/x?token=wrong", headers={"Authorization": f"Bearer {TOKEN}x"})
    assert [record for record in caplog.records if record.name.startswith("evenpace")] == []
    assert TOKEN not in client(TOKEN).get(f"/x?token={TOKEN}x").text


@given(path=st.text(max_size=20), query=st.binary(max_size=30))
def test_entering_never_leads_to_another_host(path: str, query: bytes) -> None:
    sent = raw(
        site(TOKEN),
        path=f"/{path}",
        query=f"token={TOKEN}&".encode() + query.replace(b"token", b""),
        headers=[(b"host", b"localhost")],
    )
    if sent[0]["status"] == 303:
        target = dict(sent[0]["headers"])[b"location"].decode("ascii")
        assert re.fullmatch(r"/(?![/\\])[!-~]*", target)
        assert TOKEN not in target


@pytest.mark.parametrize(
    "path", ["//evil.example/x", "/\\evil.example", "///evil.example", "/\t/evil.example"]
)
def test_entering_by_a_path_that_looks_like_a_host(path: str) -> None:
    sent = raw(site(TOKEN), path=path, query=f"token={TOKEN}".encode(), headers=[(b"host", b"localhost")])
    assert re.fullmatch(rb"/(?![/\\])[!-~]*", dict(sent[0]["headers"])[b"location"])
