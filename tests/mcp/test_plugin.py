"""The plugin of both agents: manifests agree with each other, with the package and with the server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import evenpace
from evenpace.cli import cli

TOOL = re.compile(r"`([a-z]+_[a-z]+|audit|check|diagnose)`")


@pytest.fixture
def plugin(repository: Path) -> Path:
    return repository / "plugins" / "evenpace"


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_both_marketplaces_name_the_plugin_folder(repository: Path, plugin: Path) -> None:
    (claude,) = read(repository / ".claude-plugin" / "marketplace.json")["plugins"]
    (codex,) = read(repository / ".agents" / "plugins" / "marketplace.json")["plugins"]
    assert repository / claude["source"] == repository / codex["source"]["path"] == plugin
    assert claude["name"] == codex["name"] == plugin.name


def test_manifests_agree(plugin: Path) -> None:
    manifests = [read(plugin / place / "plugin.json") for place in ("", ".claude-plugin", ".codex-plugin")]
    assert {(one["name"], one["version"]) for one in manifests} == {("evenpace", version(plugin))}
    assert len({one["description"] for one in manifests}) == 1


def version(plugin: Path) -> str:
    found = re.search(r'^version = "(.+)"', (plugin.parents[1] / "pyproject.toml").read_text("utf-8"), re.M)
    assert found
    return found[1]


def test_the_server_is_a_bare_command_of_the_package(plugin: Path) -> None:
    """Codex drops a server whose command is a path, and says nothing."""
    servers = [read(plugin / name)["mcpServers"]["evenpace"] for name in ("mcp.json", ".mcp.json")]
    assert {(one["command"], *one["args"]) for one in servers} == {(evenpace.__name__, "mcp")}
    assert "mcp" in cli.list_commands(None)  # type: ignore[arg-type]


def test_the_skill_is_found_and_names_tools_that_there_are(plugin: Path) -> None:
    from tests.mcp.test_server import TOOLS

    (path,) = plugin.glob("skills/*/SKILL.md")
    _, head, body = path.read_text("utf-8").split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields["name"] == path.parent.name
    assert 0 < len(fields["description"]) <= 1024
    assert set(TOOL.findall(body)) - {"no_data"} <= TOOLS
