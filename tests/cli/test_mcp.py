from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult

from evenpace.checks.catalogue import checks
from evenpace.cli import cli, execute

FIXTURE = checks()["jobset_no_restarts"].folder / "fixtures" / "fail.yaml"
COMMAND = [sys.executable, "-m", "evenpace", "mcp"]
TOKEN = "0123456789abcdef"  # noqa: S105 - of a server that lives for a moment
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPTED = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


async def ask(target: Any, **arguments: Any) -> CallToolResult:
    async with Client(target) as client:
        return await client.call_tool("check", {"id": "jobset_no_restarts", **arguments})


def failed(result: CallToolResult) -> int:
    assert result.structured_content is not None, result.content
    count: int = result.structured_content["counts"]["fail"]
    return count


@contextmanager
def listening(*arguments: str, token: str | None = None) -> Iterator[str]:
    environment = os.environ | ({"EVENPACE_TOKEN": token} if token else {})
    with subprocess.Popen(
        [*COMMAND, "--port", "0", *arguments], stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def test_an_agent_asks_over_standard_input() -> None:
    server = stdio_client(StdioServerParameters(command=COMMAND[0], args=COMMAND[1:]))
    assert failed(asyncio.run(ask(server, path=str(FIXTURE)))) == 1


def test_an_agent_asks_over_http_for_what_the_server_was_started_with(tmp_path: Path) -> None:
    with listening(str(FIXTURE)) as url:
        assert url.startswith("http://127.0.0.1:")
        assert failed(asyncio.run(ask(url))) == 1
        assert "started with only" in asyncio.run(ask(url, path=str(tmp_path))).content[0].text
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            answer = httpx.post(url, json=HELLO, headers=ACCEPTED | headers)
            assert answer.status_code in {403, 421}


def test_a_token_is_asked_for_where_one_is_set() -> None:
    with listening(token=TOKEN) as url:
        assert httpx.post(url, json=HELLO, headers=ACCEPTED).status_code == 401
        shown = ACCEPTED | {"Authorization": f"Bearer {TOKEN}"}
        assert httpx.post(url, json=HELLO, headers=shown).status_code == 200


def test_an_empty_context_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(cli, ["mcp", "--context", ""]) == 2
    assert "--context is empty" in capsys.readouterr().err


def test_a_context_that_is_not_there_is_said_at_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config"
    config.write_text('{"contexts": [{"name": "lab", "context": {"cluster": "c"}}], "clusters": []}', "utf-8")
    assert execute(cli, ["mcp", "--context", "prod", "--kubeconfig", str(config)]) == 2
    assert "lab" in capsys.readouterr().err
