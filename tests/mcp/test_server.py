from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client
from mcp.types import CallToolResult, Tool
from tests.mcp.conftest import ORDER, Ask

from evenpace.checks.catalogue import checks
from evenpace.library.catalogue import Library
from evenpace.mcp.auditing import Turn
from evenpace.mcp.reach import Reach
from evenpace.mcp.server import INSTRUCTIONS, build
from evenpace.terms import LANGUAGES

TOOLS = {
    *("audit", "check", "list_checks", "explain_check"),
    *("search_incidents", "show_incident", "diagnose"),
}
MOST = 25_000 * 2  # bytes of 25,000 tokens, at two bytes each


@pytest.fixture(scope="module")
def tools() -> list[Tool]:
    async def listed() -> list[Tool]:
        async with Client(build(Reach())) as client:
            assert client.instructions == INSTRUCTIONS
            return (await client.list_tools()).tools

    return asyncio.run(listed())


def content(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


def size(result: CallToolResult) -> int:
    text = json.dumps(result.model_dump(mode="json"), ensure_ascii=False)
    return len(text.encode())


def test_every_tool_says_that_it_only_reads_and_what_it_answers(tools: list[Tool]) -> None:
    assert {tool.name for tool in tools} == TOOLS
    for tool in tools:
        hints = tool.annotations
        assert hints is not None
        told = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint)
        assert told == (True, False, True)
        assert hints.open_world_hint is (tool.name in {"audit", "check"})
        assert tool.output_schema is not None
        assert tool.description
    assert len(INSTRUCTIONS) <= 512


def test_checks_are_listed_and_explained(ask: Ask) -> None:
    listed = content(ask("list_checks"))
    assert [one["id"] for one in listed["items"]] == list(checks())
    assert content(ask("list_checks", family="slurm"))["total"] < listed["total"]
    explained = content(ask("explain_check", id="jobset_no_restarts", lang="ko"))
    assert explained["incidents"]
    assert "maxRestarts" in explained["why"]


def test_incidents_are_found_and_told(ask: Ask) -> None:
    found = content(ask("search_incidents", query="Xid 79"))
    told = content(ask("show_incident", id=found["items"][0]["id"]))
    assert told["title"] == found["items"][0]["title"]
    assert told["sources"]
    some = content(ask("search_incidents", symptom=["hang"]))
    assert all("hang" in one["terms"]["symptom"] for one in some["items"])


def test_all_incidents_are_reached_page_by_page(ask: Ask) -> None:
    seen, cursor = [], ""
    while cursor is not None:
        page = content(ask("search_incidents", cursor=cursor))
        seen += [one["id"] for one in page["items"]]
        cursor = page["cursor"]
    assert sorted(seen) == sorted(one.id for one in Library.open().incidents)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_incident_and_no_check_is_too_long_for_an_agent(lang: str) -> None:
    async def largest() -> int:
        async with Client(build(Reach())) as client:
            asked = [("show_incident", one.id) for one in Library.open().incidents]
            asked += [("explain_check", id_) for id_ in checks()]
            return max([size(await client.call_tool(tool, {"id": id_, "lang": lang})) for tool, id_ in asked])

    assert asyncio.run(largest()) < MOST


def test_a_check_says_its_outcome_also_where_it_passes(ask: Ask) -> None:
    folder = checks()["jobset_no_restarts"].folder / "fixtures"
    passed = content(ask("check", id="jobset_no_restarts", path=str(folder / "pass.yaml")))
    assert [one["outcome"] for one in passed["checks"]] == ["pass"]
    failed = content(ask("check", id="jobset-no-restarts", path=str(folder / "fail.yaml")))
    (found,) = failed["items"]
    assert found["severity"] == "critical"
    assert found["quoted"]["evidence"]
    assert failed["checks"][0]["failing"] == 1


def test_what_the_server_was_started_with_needs_no_name(ask: Ask) -> None:
    fixture = checks()["jobset_no_restarts"].folder / "fixtures" / "fail.yaml"
    page = content(ask("audit", Reach(paths=(fixture,)), checks=["jobset_no_restarts"]))
    assert page["counts"]["fail"] == 1


def test_text_of_a_cluster_stands_in_quoted_fields_only(ask: Ask, hostile: Path) -> None:
    page = content(ask("audit", path=str(hostile)))
    assert page["findings"] > 0
    places = set(holding(page, ORDER.split(" and")[0]))
    assert places
    assert all(any(part.startswith("quoted") for part in place) for place in places)
    assert "\\n\\n# System" not in json.dumps(page)


def test_text_of_a_log_stands_in_quoted_fields_only(ask: Ask, tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    error = "RuntimeError: CUDA error: an illegal memory access was encountered"
    log.write_text(f"[rank0]: {error} {ORDER}\n" * 3, "utf-8")
    page = content(ask("diagnose", paths=[str(log)]))
    assert page["files"] == 1
    places = set(holding(page, "IGNORE ALL"))
    assert places
    assert all(any(part.startswith("quoted") for part in place) for place in places)


def holding(value: Any, text: str, where: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path to each string that holds `text`."""
    if isinstance(value, str) and text in value:
        yield where
    for key, one in value.items() if isinstance(value, dict) else ():
        yield from holding(one, text, (*where, key))
    for one in value if isinstance(value, list) else ():
        yield from holding(one, text, where)


def test_pages_of_an_audit_fit_and_lose_nothing(tmp_path: Path) -> None:
    jobsets = [
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {"name": f"train-{number}-" + "긴이름" * 300, "namespace": "ml"},
            "spec": {"failurePolicy": {"maxRestarts": 0}, "replicatedJobs": []},
        }
        for number in range(130)
    ]
    fixture = checks()["jobset_no_restarts"].folder / "fixtures" / "fail.yaml"
    model = yaml.safe_load(fixture.read_text("utf-8"))
    (kind,) = (name for name in model["kinds"] if name.startswith("jobsets"))
    spec = model["kinds"][kind][0]["spec"]
    model["kinds"][kind] = [one | {"spec": spec} for one in jobsets]
    path = tmp_path / "many.yaml"
    path.write_text(yaml.safe_dump(model, allow_unicode=True), "utf-8")

    async def pages() -> list[CallToolResult]:
        async with Client(build(Reach(callers_name=True))) as client:
            found, cursor = [], ""
            while cursor is not None:
                asked = {"path": str(path), "checks": ["jobset_no_restarts"], "cursor": cursor}
                found.append(await client.call_tool("audit", asked))
                cursor = content(found[-1])["cursor"]
            return found

    results = asyncio.run(pages())
    assert len(results) > 1
    assert max(map(size, results)) < MOST
    names = [one["quoted"]["subject"]["object"][:20] for page in results for one in content(page)["items"]]
    assert len(set(names)) == len(names) == content(results[0])["findings"] == 100
    assert content(results[0])["unlisted"] == 30
    assert [len(content(page)["checks"]) for page in results] == [1] + [0] * (len(results) - 1)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("audit", {}, "name what to audit"),
        ("audit", {"path": "/nowhere"}, "no file or folder"),
        ("audit", {"path": "a", "context": "b"}, "not both"),
        ("audit", {"cursor": "0123456789abcdef.0"}, "no longer kept"),
        ("check", {"id": "jobset_no_restart", "path": "/nowhere"}, "did you mean"),
        ("explain_check", {"id": "x"}, "there is no check"),
        ("show_incident", {"id": "IL-9999"}, "there is no case"),
        ("list_checks", {"cursor": "-1"}, "there is no page"),
        ("search_incidents", {"cursor": "99999"}, "there is no page"),
        ("diagnose", {}, "name the logs"),
        ("diagnose", {"paths": ["-"]}, "no file or folder"),
        ("diagnose", {"paths": ["/dev/stdin"]}, "no file or folder"),
        ("diagnose", {"paths": ["/proc/self/environ"]}, "no file or folder"),
    ],
)
def test_what_cannot_be_answered_is_one_line(
    ask: Ask, tool: str, arguments: dict[str, Any], told: str
) -> None:
    result = ask(tool, **arguments)
    assert result.is_error
    assert told in result.content[0].text
    assert "\n" not in result.content[0].text


def test_a_context_is_read_only_where_the_user_has_it(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    (tmp_path / "config").write_text(
        "{current-context: prod, contexts: [{name: prod, context: {}}]}", "utf-8"
    )
    assert "there is no context 'other'" in ask("audit", context="other").content[0].text
    assert "name what to audit" in ask("audit").content[0].text  # never the current one by itself
    refused = ask("audit", Reach(context="prod"), context="other").content[0].text
    assert "started with only" in refused


def test_calls_wait_for_their_turn(ask: Ask, hostile: Path, eventually: Callable[..., None]) -> None:
    turn = Turn(threading.Lock(), patience=0.01)

    async def call() -> CallToolResult:
        async with Client(build(Reach(callers_name=True), turn)) as client:
            return await client.call_tool("audit", {"path": str(hostile)})

    with turn.taken():
        assert "still reading" in asyncio.run(call()).content[0].text
    assert not asyncio.run(call()).is_error


def test_checks_that_never_end_stop_an_audit(
    ask: Ask, hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenpace.mcp.auditing.unended", lambda: 3)
    assert "start the server again" in ask("audit", path=str(hostile)).content[0].text
