"""The protocol's own tools agree: its inspector and its conformance suite, where they are installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from tests.cli.test_mcp import FIXTURE, listening

INSPECTOR, CONFORMANCE = shutil.which("mcp-inspector"), shutil.which("conformance")
SERVER = (sys.executable, "-m", "evenpace", "mcp")
CALL = ("--method", "tools/call", "--tool-name", "check", "--tool-arg", "id=jobset_no_restarts")
SCENARIOS = ("server-initialize", "ping", "tools-list", "dns-rebinding-protection")


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=90)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.skipif(INSPECTOR is None, reason="mcp-inspector is not installed")
def test_the_inspector_calls_a_tool_over_both_transports() -> None:
    assert INSPECTOR
    said = run(INSPECTOR, "--cli", *SERVER, *CALL, "--tool-arg", f"path={FIXTURE}")
    with listening(str(FIXTURE)) as url:
        over_http = run(INSPECTOR, "--cli", url, "--transport", "http", *CALL)
    for told in (said, over_http):
        assert json.loads(told)["structuredContent"]["counts"]["fail"] == 1


@pytest.mark.skipif(CONFORMANCE is None, reason="the conformance suite of MCP is not installed")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_server_conforms(scenario: str) -> None:
    assert CONFORMANCE
    with listening() as url:
        assert "0 failed" in run(CONFORMANCE, "server", "--url", url, "--scenario", scenario)
