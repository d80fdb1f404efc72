"""A live cluster, asked by an agent: read where its context is named, and by GET alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.collect.kubernetes.scripted import Answer, Scripted, discovery, kubeconfig, said
from tests.mcp.conftest import Ask

from evenpace.checks.catalogue import find
from evenpace.mcp.reach import Reach

CHECK = "jobset_no_restarts"


@pytest.fixture
def server() -> Iterator[Scripted]:
    """Serve the objects of a failing fixture."""
    text = (find(CHECK).folder / "fixtures" / "fail.yaml").read_text("utf-8")
    by_plural = {kind.partition(".")[0]: objects for kind, objects in yaml.safe_load(text)["kinds"].items()}

    def script(path: str, _: dict[str, str]) -> Answer:
        return discovery(path) or said({"metadata": {}, "items": by_plural.get(path.rpartition("/")[2], [])})

    with Scripted(script) as server:
        yield server


@pytest.fixture
def config(server: Scripted, tmp_path: Path) -> Path:
    """Return a kubeconfig of the server."""
    file = tmp_path / "config"
    file.write_text(kubeconfig(server.url, {"token": "t"}), "utf-8")
    return file


def counts(result: Any) -> dict[str, int]:
    assert not result.is_error, result.content
    found: dict[str, int] = result.structured_content["counts"]
    return found


def test_the_context_is_the_callers_or_the_servers(ask: Ask, config: Path) -> None:
    own = Reach(kubeconfig=config, callers_name=True)
    assert counts(ask("check", own, id=CHECK, context="it"))["fail"] == 1
    started = Reach(context="it", kubeconfig=config)
    assert counts(ask("check", started, id=CHECK))["fail"] == 1


def test_without_a_name_no_cluster_is_reached(ask: Ask, config: Path, server: Scripted) -> None:
    assert ask("audit", Reach(kubeconfig=config, callers_name=True)).is_error
    assert server.asked == []
