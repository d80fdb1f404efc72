"""Run a job on this machine: the user's command as it is, or one torchrun agent for each emulated node.

Agents write straight to their log files and lead sessions of their own, so that the death of evenpace stops
nothing.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import psutil

from evenpace.errors import Problem
from evenpace.respond.launchers import AgentExit, NodeStart
from evenpace.respond.launchers.logfile import Reserve, open_log
from evenpace.respond.launchers.processes import alive, find, kill_all, members, tree
from evenpace.respond.launchers.torchrun import for_node

POLL = 0.05  # seconds


@dataclass(slots=True)
class _Agent:
    """One agent: our child, or one of an earlier evenpace (`process` is None where that is gone)."""

    node: str
    process: psutil.Process | None
    child: subprocess.Popen[bytes] | None = None
    reserve: Reserve | None = None
    reported: bool = False

    def ended(self) -> bool:
        if self.child:
            return self.child.poll() is not None
        return self.process is None or not alive(self.process)

    def send(self, number: int) -> None:
        if self.process is None or self.ended():
            return
        try:
            self.process.send_signal(number)
        except psutil.Error:
            return


class LocalLauncher:
    """Launch on this machine. `run` marks our processes; `emulate` makes each node a torchrun agent."""

    def __init__(
        self, command: Sequence[str], run: str, *, emulate: bool, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.command = list(command)
        self.run = run
        self.emulate = emulate
        self.unlogged: dict[str, str] = {}
        self._sleep = sleep
        self._agents: dict[str, _Agent] = {}

    def start(self, starts: Sequence[NodeStart]) -> dict[str, int]:
        """Start one agent a node; raises Problem where the program cannot be run."""
        self._agents, self.unlogged = {}, {}
        port = _free_port()
        for rank, start in enumerate(starts):
            command = for_node(self.command, rank, len(starts), port) if self.emulate else self.command
            self._agents[start.node] = self._spawn(command, start)
        return {node: agent.process.pid for node, agent in self._agents.items() if agent.process}

    def _spawn(self, command: Sequence[str], start: NodeStart) -> _Agent:
        terminal = not self.emulate and shares_terminal()
        log = self._log(start)
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL if self.emulate else None,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(start.env),
                start_new_session=not terminal,
            )
        except OSError as error:
            self.stop(0.0)
            raise Problem(f"cannot start {command[0]}: {error.strerror}; check the command") from error
        finally:
            os.close(log)
        reserve = Reserve(start.log)
        reserve.fill()
        return _Agent(start.node, psutil.Process(child.pid), child, reserve)

    def _log(self, start: NodeStart) -> int:
        """Open a node's log; where that is impossible its output is dropped rather than the job."""
        try:
            return open_log(start.log)
        except OSError as error:
            self.unlogged[start.node] = error.strerror or str(error)
            return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)

    def adopt(self, agents: Mapping[str, int]) -> None:
        """Take over the agents (node → pid) of an earlier evenpace; a pid reused by others has ended."""
        self._agents = {}
        for node, pid in agents.items():
            self._agents[node] = _Agent(node, find(pid, self.run, node))

    def poll(self) -> list[AgentExit]:
        """Return the agents that ended since the last call; the code of an adopted one is unknown."""
        for agent in self._agents.values():
            if agent.reserve and not agent.reported:
                agent.reserve.fill()
        exits = [agent for agent in self._agents.values() if not agent.reported and agent.ended()]
        for agent in exits:
            agent.reported = True
            if agent.reserve and not members(self.run, agent.node):
                agent.reserve.release()
        return [AgentExit(agent.node, agent.child.returncode if agent.child else None) for agent in exits]

    def signal(self, number: int) -> None:
        """Pass a signal on, except a Ctrl-C that the terminal has already sent to the command."""
        for agent in self._agents.values():
            if not (
                number in (signal.SIGINT, signal.SIGQUIT)
                and agent.process
                and hears_terminal(agent.process.pid)
            ):
                agent.send(number)

    def stop(self, grace: float) -> list[int]:
        """Ask the agents to end, then end them and every stray of the run by force."""
        known = [process for agent in self._agents.values() for process in tree(agent.process)]
        for agent in self._agents.values():
            agent.send(signal.SIGTERM)
        waited = 0.0
        while waited < grace and not all(agent.ended() for agent in self._agents.values()):
            self._sleep(POLL)
            waited += POLL
        return self._kill(lambda: [*known, *members(self.run)])

    def _kill(self, targets: Callable[[], Iterable[psutil.Process]]) -> list[int]:
        survivors = kill_all(targets, self._sleep)
        for agent in self._agents.values():
            agent.ended()  # reaps our children
        return survivors


def shares_terminal() -> bool:
    """Tell whether a person types into our standard input, which the command then shares."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def hears_terminal(pid: int) -> bool:
    """Tell whether our terminal sends its Ctrl-C to `pid` too: it is in our group, in the foreground."""
    try:
        return os.getpgid(pid) == os.getpgrp() == os.tcgetpgrp(sys.stdin.fileno())
    except (OSError, ValueError, AttributeError):
        return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
