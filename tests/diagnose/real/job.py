"""Jobs that really fail: start programs, disturb them, and ask `evenpace diagnose` about what they wrote."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest

from evenpace.cli import cli, execute

PROGRAMS = Path(__file__).parent / "programs"
DEADLINE = 60.0  # seconds after which a job is said to hang: ten times what it takes
LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}


def torchrun(
    program: str, *arguments: object, ranks: int = 3, options: Sequence[str] = ("--standalone",)
) -> list[str]:
    """Return the command that starts a program of the folder `programs`."""
    launcher = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", *options]
    return [*launcher, str(PROGRAMS / program), *map(str, arguments)]


def two_nodes(node: int, port: int) -> list[str]:
    """Return the options of torchrun for one of two nodes."""
    return ["--nnodes=2", f"--node-rank={node}", "--master-addr=127.0.0.1", f"--master-port={port}"]


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@dataclass
class Job:
    """Start commands, each with a log of its own in `folder`, and end what is left of them."""

    folder: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(
        self, command: Sequence[str], log: str = "job.log", env: Mapping[str, str] | None = None
    ) -> Path:
        """Start a command in a session of its own; return its log."""
        path = self.folder / log
        environment = {**os.environ, **LOOPBACK, **(env or {})}
        with path.open("wb") as out:
            self.started.append(
                subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)
            )
        return path

    def run(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> Path:
        """Run a command to its end; return its log."""
        log = self.start(command, env=env)
        self.wait()
        return log

    def wait(self) -> list[int]:
        """Wait until all ended; return their exit codes."""
        return [process.wait(DEADLINE) for process in self.started]

    def send(self, which: signal.Signals) -> None:
        """Send a signal to the launcher started last, as a user or a scheduler does."""
        self.started[-1].send_signal(which)

    def end(self) -> None:
        """Kill what is left."""
        for process in self.started:
            for one in [*_descendants(process.pid), process]:
                try:
                    one.kill()
                except psutil.NoSuchProcess:
                    continue
            process.wait()


def _descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@dataclass(frozen=True)
class Said:
    """What was answered about logs: the exit code, the findings of the JSON form, and the text form."""

    code: int
    findings: list[dict[str, Any]]
    text: str

    @property
    def faults(self) -> list[str]:
        """Return the fault of each finding."""
        return [one["fault"] for one in self.findings]

    @property
    def accused(self) -> set[int]:
        """Return all ranks that some finding names as the culprit."""
        return {rank for one in self.findings for rank in _several(one["subject"].get("rank"))}

    @property
    def victims(self) -> set[int]:
        """Return the ranks that the first finding counts as victims."""
        return {
            rank
            for one in self.findings[:1]
            for victim in one["victims"]
            for rank in _several(victim.get("rank"))
        }

    @property
    def named(self) -> list[object]:
        """Return whoever is named at all: ranks, nodes, GPUs and the like."""
        parts = ("rank", "local_rank", "node", "gpu", "link")
        return [
            value
            for one in self.findings
            for part in parts
            if (value := one["subject"].get(part)) is not None
        ]


def _several(value: object) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, list):
        yield from value


def ask(capfd: pytest.CaptureFixture[str], *logs: Path) -> Said:
    """Diagnose logs, as text and as JSON."""
    words = [str(log) for log in logs]
    capfd.readouterr()
    code = execute(cli, ["diagnose", *words])
    text = capfd.readouterr().out
    assert execute(cli, ["diagnose", *words, "--format", "json"]) == code
    return Said(code, json.loads(capfd.readouterr().out)["findings"], text)


@cache
def namespace() -> tuple[str, ...] | None:
    """Return the command under which a program may mount, or None where the kernel forbids that."""
    for words in (("unshare", "--mount"), ("unshare", "--user", "--map-root-user", "--mount")):
        try:
            probe = subprocess.run(
                [*words, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False
            )
        except OSError:
            return None
        if probe.returncode == 0:
            return words
    return None


def with_small_disk(command: Sequence[str], at: Path, kilobytes: int) -> list[str]:
    """Return the command that runs another with a file system of its own at `at`; skips where none can be."""
    words = namespace()
    if words is None:
        pytest.skip("this machine does not let a test mount a file system")
    script = 'mount -t tmpfs -o size="$1"k tmpfs "$2" && shift 2 && exec "$@"'
    return [*words, "sh", "-c", script, "sh", str(kilobytes), str(at), *command]
