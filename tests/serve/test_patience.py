"""Connections that dawdle are closed, and others are not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from evenpace.serve.patience import Patient

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


class Impatient(Patient):
    asking = 0.3
    answering = 0.6


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer with much where the path is /much, with little after a while where it is /late."""
    if scope["path"] == "/late":
        await asyncio.sleep(0.4)
    body = b"x" * (64 * 1024 * 1024) if scope["path"] == "/much" else b"ok"
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def closed(first: bytes, drip: bytes = b"", *, reads: bool = True) -> tuple[bool, bytes]:
    """Send `first`, then `drip` now and then for 2 s; tell whether the server hung up, and its words."""
    config = uvicorn.Config(answer, http=Impatient, timeout_keep_alive=1, log_level="error")
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Impatient(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    said = b""
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        writer.write(first)
        for _ in range(40):
            try:
                writer.write(drip)
                if reads:
                    said += await asyncio.wait_for(reader.read(1024), 0.05)
                else:
                    await asyncio.sleep(0.05)
            except TimeoutError:
                pass
            except ConnectionError:
                break
            if reader.at_eof() or not state.connections:
                break
        hung_up = not state.connections
        writer.close()
    return hung_up, said


@pytest.mark.parametrize(
    ("first", "drip"),
    [
        (b"", b""),
        (HEAD, b"X-A: b\r\n"),
        (HEAD + b"Content-Length: 60000\r\n\r\n", b"x"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ],
    ids=["silent", "headers", "body", "chunks"],
)
def test_a_slow_request_ends(first: bytes, drip: bytes) -> None:
    assert asyncio.run(closed(first, drip))[0]


def test_an_answer_that_nobody_takes_ends() -> None:
    assert asyncio.run(closed(HEAD.replace(b"/ ", b"/much ") + b"\r\n", reads=False))[0]


def test_an_answer_may_take_longer_than_a_request() -> None:
    assert asyncio.run(closed(HEAD.replace(b"/ ", b"/late ") + b"\r\n"))[1].endswith(b"ok")


def test_a_connection_that_keeps_asking_stays() -> None:
    hung_up, said = asyncio.run(closed(b"", HEAD + b"\r\n"))
    assert not hung_up
    assert said.count(b"200 OK") > 10
