"""The protocol's own tools agree: its inspector and its conformance suite, which `npm ci` in node/ brings."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.test_mcp import FIXTURE, listening

INSTALLED = Path(__file__).parent / "node/node_modules"
# The suite needs node 22, which is installed with it: it goes in front of the machine's own.
OURS = map(str, (*INSTALLED.glob("node-linux-*/bin"), INSTALLED / ".bin"))
PATH = os.pathsep.join((*OURS, os.environ.get("PATH", os.defpath)))
SERVER = (sys.executable, "-m", "evenpace", "mcp")
CALL = ("--method", "tools/call", "--tool-name", "check", "--tool-arg", "id=jobset_no_restarts")
SCENARIOS = ("server-initialize", "ping", "tools-list", "dns-rebinding-protection")


def tool(name: str) -> Callable[..., str]:
    """Return what runs a tool; without it a test is skipped, or fails where CI is set."""
    found = shutil.which(name, path=PATH)
    if found is None:
        word = f"no {name} here: run `npm ci` in tests/mcp/node"
        if os.environ.get("CI"):
            pytest.fail(word)
        pytest.skip(word)
    environment = {**os.environ, "PATH": PATH}

    def run(*words: str) -> str:
        command = (found, *words)
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=90
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    return run


def test_the_inspector_calls_a_tool_over_both_transports() -> None:
    inspector = tool("mcp-inspector")
    said = inspector("--cli", *SERVER, *CALL, "--tool-arg", f"path={FIXTURE}")
    with listening(str(FIXTURE)) as url:
        over_http = inspector("--cli", url, "--transport", "http", *CALL)
    for told in (said, over_http):
        assert json.loads(told)["structuredContent"]["counts"]["fail"] == 1


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_server_conforms(scenario: str) -> None:
    conformance = tool("conformance")
    with listening() as url:
        assert "0 failed" in conformance("server", "--url", url, "--scenario", scenario)
