from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from evenpace.errors import Problem
from evenpace.respond.launchers import AgentExit, NodeStart, local
from evenpace.respond.launchers.local import LocalLauncher
from evenpace.respond.launchers.processes import alive, find, kill_all, members

Start = Callable[..., LocalLauncher]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a shell script for each node."""
    run = str(tmp_path)
    launchers: list[LocalLauncher] = []

    def begin(script: str, *nodes: str) -> LocalLauncher:
        launcher = LocalLauncher(["sh", "-c", script], run, emulate=False)
        launchers.append(launcher)
        launcher.start(
            [
                NodeStart(node, {**os.environ, "EVENPACE_RUN": run, "EVENPACE_NODE": node}, tmp_path / node)
                for node in nodes
            ]
        )
        return launcher

    yield begin
    for launcher in launchers:
        launcher.stop(0.0)


def polled(launcher: LocalLauncher, count: int, eventually: Any) -> list[AgentExit]:
    exits: list[AgentExit] = []

    def enough() -> bool:
        exits.extend(launcher.poll())
        return len(exits) >= count

    eventually(enough)
    return exits


def test_exits_are_told_once_with_their_codes(start: Start, eventually: Any) -> None:
    launcher = start('[ "$EVENPACE_NODE" = a ] && exit 4; kill -9 $$', "a", "b")
    exits = polled(launcher, 2, eventually)
    assert sorted(exits, key=lambda one: one.node) == [AgentExit("a", 4), AgentExit("b", -9)]
    assert launcher.poll() == []


def test_agents_lead_sessions_of_their_own(start: Start, tmp_path: Path) -> None:
    start("sleep 600", "a")
    (agent,) = (process for process in members(str(tmp_path)) if process.ppid() == os.getpid())
    assert os.getsid(agent.pid) == agent.pid


def test_a_signal_reaches_the_agents(start: Start, tmp_path: Path, eventually: Any) -> None:
    launcher = start("trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done", "a")
    eventually((tmp_path / "a").read_text)
    launcher.signal(signal.SIGTERM)
    assert polled(launcher, 1, eventually) == [AgentExit("a", 7)]


@pytest.mark.parametrize(("foreground", "hears"), [(os.getpgrp(), True), (-1, False)])
def test_a_terminal_reaches_its_foreground_group_alone(
    monkeypatch: pytest.MonkeyPatch,
    start: Start,
    tmp_path: Path,
    eventually: Any,
    foreground: int,
    hears: bool,
) -> None:
    """A Ctrl-C must not arrive twice; a signal from elsewhere must not be swallowed."""
    start("sleep 600", "a")
    found: list[psutil.Process] = []
    eventually(lambda: found or found.extend(p for p in members(str(tmp_path)) if p.ppid() == os.getpid()))
    agent = found[0]
    monkeypatch.setattr(os, "tcgetpgrp", lambda descriptor: foreground)
    with (tmp_path / "a").open() as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        assert local.hears_terminal(os.getpid()) is hears
        assert not local.hears_terminal(agent.pid)


def test_adopted_agents_are_known_by_their_environment(start: Start, tmp_path: Path, eventually: Any) -> None:
    start("sleep 600", "a")
    (agent,) = (process for process in members(str(tmp_path)) if process.ppid() == os.getpid())
    assert find(agent.pid, str(tmp_path), "a") == agent
    second = LocalLauncher(["sh"], str(tmp_path), emulate=False)
    second.adopt({"a": agent.pid, "b": os.getpid()})
    assert second.poll() == [AgentExit("b", None)]
    assert second.stop(0.0) == []
    assert polled(second, 1, eventually) == [AgentExit("a", None)]
    assert not alive(agent)


def test_a_program_that_does_not_start_leaves_nothing(tmp_path: Path) -> None:
    launcher = LocalLauncher([str(tmp_path)], str(tmp_path), emulate=False)
    with pytest.raises(Problem, match="cannot start"):
        launcher.start([NodeStart("a", dict(os.environ), tmp_path / "log")])


def test_survivors_are_named(
    monkeypatch: pytest.MonkeyPatch, start: Start, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    start("exec sleep 600", "a")
    eventually(lambda: members(str(tmp_path)), what="the agent with its environment")
    (agent,) = members(str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(psutil.Process, "kill", lambda process: None)
        assert kill_all(lambda: [agent], lambda seconds: None, rounds=3) == [agent.pid]
