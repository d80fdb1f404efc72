"""The door sends GET and nothing else: read from its source, and seen by a server with all rights."""

from __future__ import annotations

import ast
from pathlib import Path

import httpx2
import pytest
from tests.collect.kubernetes.scripted import Scripted, discovery, kubeconfig, said

import evenpace
from evenpace.checks.catalogue import checks
from evenpace.checks.running import run_all
from evenpace.collect.kubernetes import transport
from evenpace.collect.kubernetes.config import access
from evenpace.collect.kubernetes.kinds import KINDS
from evenpace.collect.kubernetes.live import read
from evenpace.collect.kubernetes.transport import Limits, Transport
from evenpace.collect.snapshot import Why
from evenpace.demo.cluster.fleet import filled
from evenpace.demo.cluster.server import Emulator
from evenpace.errors import Problem

SOURCE = Path(evenpace.__file__).parent
DOOR = Path(transport.__file__)
SENDING = {
    "request",
    "stream",
    "send",
    "get",
    "post",
    "put",
    "patch",
    "delete",
    "options",
    "head",
    "build_request",
}
CLIENTS = {
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "requests",
    "aiohttp",
    "kubernetes",
    "urllib3",
    "websockets",
}


def imported(path: Path) -> set[str]:
    """Return the packages that a module imports, at any depth."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
    return names


def test_the_one_call_that_sends_says_get() -> None:
    calls = [
        node
        for node in ast.walk(ast.parse(DOOR.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in SENDING
        and "_client" in ast.unparse(node.func.value)
    ]
    assert [ast.unparse(call.func) for call in calls] == ["self._client.stream"]
    assert isinstance(calls[0].args[0], ast.Constant)
    assert calls[0].args[0].value == "GET"
    assert not [keyword for keyword in calls[0].keywords if keyword.arg == "method"]


def test_the_client_does_not_leave_the_door() -> None:
    """Nobody else holds the client or makes one: of what the gap check is, the door alone speaks HTTP."""
    for path in (p for room in ("collect", "checks") for p in (SOURCE / room).rglob("*.py") if p != DOOR):
        assert {name.split(".")[0] for name in imported(path)} & CLIENTS == set(), path
        assert "._client" not in path.read_text("utf-8"), path
    lightkube = {
        path.name: {name for name in imported(path) if name.startswith("lightkube")}
        for path in (SOURCE / "collect").rglob("*.py")
    }
    assert {name for name, found in lightkube.items() if found} == {"config.py", "transport.py"}
    assert set().union(*lightkube.values()) == {
        "lightkube.config.client_adapter",
        "lightkube.config.kubeconfig",
        "lightkube.config.models",
        "lightkube.core.exceptions",
    }


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "CONNECT"])
def test_no_other_method_gets_past_the_door_even_from_within(tmp_path: Path, method: str) -> None:
    file = tmp_path / "config"
    with Scripted(lambda path, _: discovery(path) or said({})) as server:
        file.write_text(kubeconfig(server.url, user={}), "utf-8")
        door = Transport(access(file), Limits())
        with pytest.raises(ValueError, match="is never sent"):
            door._client.send(httpx2.Request(method, server.url))
        door.close()
    assert server.asked == []


def test_a_whole_audit_with_all_rights_sends_get_alone(tmp_path: Path) -> None:
    file = tmp_path / "config"
    every = tuple(checks().values())
    with Emulator(filled()) as emulator:
        file.write_text(kubeconfig(emulator.url, user={}), "utf-8")
        snapshot = read(access(file), KINDS)
        results = list(run_all([snapshot], every))
    entries = emulator.log.entries
    assert len(entries) > 20
    assert {entry.method for entry in entries} == {"GET"}
    assert {entry.verb for entry in entries} <= {"get", "list", ""}
    assert {entry.agent.split("/")[0] for entry in entries} == {"evenpace"}
    assert "secrets" not in {entry.resource for entry in entries}
    assert results
    assert not [result for result in results if result.error]


def test_each_missing_right_is_no_data_of_that_kind_alone(tmp_path: Path) -> None:
    file = tmp_path / "config"
    with Emulator(filled(), may=lambda verb, resource: resource != "pods") as emulator:
        file.write_text(kubeconfig(emulator.url, user={}), "utf-8")
        snapshot = read(access(file), ("nodes", "pods", "jobs.batch"))
    assert set(snapshot.kinds) == {"nodes", "jobs.batch"}
    assert (snapshot.unread["pods"].why, snapshot.unread["pods"].what) == (Why.FORBIDDEN, "list pods")


def test_the_total_of_all_answers_is_bounded(tmp_path: Path) -> None:
    file = tmp_path / "config"
    large = said({"metadata": {}, "items": [{"metadata": {"name": "a" * 3000}}]})
    with Scripted(lambda path, _: discovery(path) or large) as server:
        file.write_text(kubeconfig(server.url, user={}), "utf-8")
        snapshot = read(access(file), ("nodes", "pods", "events"), None, Limits(total=5000))
    assert {one.why for one in snapshot.unread.values()} == {Why.TOO_LARGE}


@pytest.mark.parametrize("server", ["http://[::1", "ftp://x", "", "https://a b"])
def test_an_address_that_is_none_is_one_clear_line(tmp_path: Path, server: str) -> None:
    file = tmp_path / "config"
    file.write_text(kubeconfig(server, user={}), "utf-8")
    with pytest.raises(Problem):
        read(access(file), ("nodes",), None, Limits(silence=1.0))


def test_what_an_address_carries_besides_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "config"
    with Scripted(lambda path, _: discovery(path) or said({"items": []})) as server:
        file.write_text(kubeconfig(server.url.replace("//", "//user:hidden@"), user={}), "utf-8")
        snapshot = read(access(file), ("nodes",))
    assert "hidden" not in snapshot.source
    assert server.url in snapshot.source
