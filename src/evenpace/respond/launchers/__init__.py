"""What the supervisor needs of a launcher: it starts the agents of one incarnation and ends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class NodeStart:
    """Say how to start a node's agent: its name, the whole environment, and the file for its output."""

    node: str
    env: Mapping[str, str]
    log: Path


@dataclass(frozen=True, slots=True)
class AgentExit:
    """Report an agent that ended. `code` is negative for a signal, None where nobody can know it."""

    node: str
    code: int | None


class Launcher(Protocol):
    """Start, watch and end the agents of a job. One incarnation at a time."""

    @property
    def unlogged(self) -> Mapping[str, str]:
        """Return the nodes of the last start whose output is dropped, each with the reason."""

    def start(self, starts: Sequence[NodeStart]) -> dict[str, int]:
        """Start one agent a node, ranked in order; return node → pid. Raises Problem where that fails."""

    def poll(self) -> list[AgentExit]:
        """Return the agents that ended since the last call."""

    def signal(self, number: int) -> None:
        """Pass a signal on to the agents that still run."""

    def stop(self, grace: float) -> list[int]:
        """End all agents and what they started, by force after `grace` seconds; return surviving pids."""
