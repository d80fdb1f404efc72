"""A real Slurm on the loopback of this machine: munge, accounting, controller, nodes, each our own process.

No system service, no cgroup, no rights of root are needed; nodes have GPUs in name only.
"""

from __future__ import annotations

import getpass
import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

NODES = 34  # more than a leaf switch has
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random")  # in the place of GPUs
PROGRAMS = ("munged", "slurmctld", "slurmd", "slurmdbd", "mariadbd", "mariadb-install-db")
SEARCH = f"{os.environ['PATH']}{os.pathsep}/usr/sbin{os.pathsep}/sbin"
# What a careful administrator sets: no check fails with it.
CAREFUL = {
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "AccountingStorageTRES": "gres/gpu",
    "HealthCheckInterval": "120",
    "HealthCheckNodeState": "ANY",
    "JobRequeue": "1",
    "KillOnBadExit": "1",
    "KillWait": "120",
    "MinJobAge": "3600",
    "PrologEpilogTimeout": "120",
    "PrologFlags": "Alloc",
    "ReturnToService": "1",
    "SchedulerParameters": "sched_interval=1,bf_interval=1,nohold_on_prolog_fail",
    "SlurmdTimeout": "300",
    "TopologyPlugin": "topology/tree",
    "UnkillableStepTimeout": "180",
}
LINES = ("SlurmctldHost=second(127.0.0.2)",)  # which only stands there
HEALTH = """#!/bin/bash
exec timeout 20 nvidia-smi --query-gpu=uuid --format=csv
"""
HARMLESS = "#!/bin/sh\nexit 0\n"


def missing() -> list[str]:
    """Return the programs that are not installed here."""
    return [program for program in PROGRAMS if shutil.which(program, path=SEARCH) is None]


class RealSlurm:
    """Run a cluster in a folder; `environment` is what its commands need."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "PATH": SEARCH, "SLURM_CONF": str(folder / "etc" / "slurm.conf")}
        self.devices: dict[str, int] = {}  # how many GPUs a node finds, where not all
        self.environment["MYSQL_UNIX_PORT"] = str(folder / "db.sock")
        self._host = socket.gethostname().partition(".")[0]
        self._ports = free_ports(NODES + 2)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        folder.chmod(0o755)  # munge wants its socket to be in reach of all
        for name in ("etc", "state", "spool", "log", "munge", "db"):
            (folder / name).mkdir(mode=0o755, parents=True)

    def start(self) -> None:
        """Start all of it, and wait until every node is idle."""
        self.write("prolog.sh", HARMLESS)
        self.write("epilog.sh", HARMLESS)
        self.write("unkillable.sh", HARMLESS)
        self.write("health.sh", HEALTH)
        self._configure({}, LINES)
        self._start_munge()
        self._start_database()
        self.start_controller()
        for number in range(NODES):
            self.start_node(f"gpu{number + 1}")
        self.until(lambda: self.idle() == NODES)

    def stop(self) -> None:
        """End all of it, jobs first: their steps would outlive the daemons."""
        if "slurmctld" in self._running:
            self.run("scancel", "--user", getpass.getuser(), check=False)
            self.until(lambda: not self.run("squeue", "-h", check=False).strip())
        for name in ("slurmctld", *self._nodes(), "slurmdbd", "mariadbd", "munged"):
            self.end(name)

    def _nodes(self) -> list[str]:
        return [name for name in self._running if name.startswith("gpu")]

    def run(self, *command: str, check: bool = True) -> str:
        """Run a command of Slurm as an administrator would, and return what it prints."""
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {done.stderr or done.stdout}")
        return done.stdout

    def until(self, condition: Callable[[], object], deadline: float = 60.0) -> None:
        """Wait until a condition holds; raises AssertionError with the logs where it never does."""
        end = time.monotonic() + deadline
        while not condition():
            if time.monotonic() > end:
                logs = (self.folder / "log").glob("slurmctld*")
                raise AssertionError("\n".join(path.read_text("utf-8", "replace")[-1500:] for path in logs))
            time.sleep(0.05)

    def idle(self) -> int:
        """Return how many nodes are idle and in service."""
        return sum(map(int, self.run("sinfo", "-h", "-t", "idle", "-o", "%D", check=False).split()))

    def write(self, name: str, text: str) -> Path:
        """Put a file beside slurm.conf, as a program; daemons may be reading the one before."""
        path, new = self.folder / "etc" / name, self.folder / f"{name}.new"
        new.write_text(text, "utf-8")
        new.chmod(0o755)
        return new.replace(path)

    def spawn(self, name: str, *command: str) -> None:
        """Start a daemon in the foreground, as our child."""
        with (self.folder / "log" / f"{name}.out").open("ab") as out:
            self._running[name] = subprocess.Popen(
                command, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )

    def end(self, name: str) -> None:
        """End a daemon that we started."""
        process = self._running.pop(name, None)
        if process is None:
            return
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def set(
        self, settings: Mapping[str, str | None], restart: bool = False, lines: Sequence[str] = LINES
    ) -> None:
        """Change settings (None: leave it unset); some are read only when the controller starts."""
        self._configure(settings, lines)
        if restart:
            self.end("slurmctld")
            self.start_controller()
            self.until(lambda: self.idle() == NODES)
        else:
            self.run("scontrol", "reconfigure")

    def start_controller(self) -> None:
        """Start the controller and wait until it answers."""
        self.spawn("slurmctld", "slurmctld", "-D")
        self.until(lambda: "UP" in self.run("scontrol", "ping", check=False))

    def start_node(self, name: str) -> None:
        """Start the daemon of a node."""
        self.spawn(name, "slurmd", "-D", "-N", name)

    def _configure(self, settings: Mapping[str, str | None], lines: Sequence[str]) -> None:
        etc, user = self.folder / "etc", getpass.getuser()
        fixed = {
            "ClusterName": "hopper",
            "SlurmctldHost": f"{self._host}(127.0.0.1)",
            "SlurmctldPort": str(self._ports[0]),
            "SlurmUser": user,
            "SlurmdUser": user,
            "AuthType": "auth/munge",
            "CredType": "cred/munge",
            "AuthInfo": f"socket={self.folder}/munge/munge.sock",
            "CommunicationParameters": "NoInAddrAny,NoCtldInAddrAny",
            "StateSaveLocation": str(self.folder / "state"),
            "SlurmdSpoolDir": f"{self.folder}/spool/%n",
            "SlurmctldPidFile": f"{self.folder}/slurmctld.pid",
            "SlurmdPidFile": f"{self.folder}/slurmd.%n.pid",
            "SlurmctldLogFile": f"{self.folder}/log/slurmctld.log",
            "SlurmdLogFile": f"{self.folder}/log/slurmd.%n.log",
            "ProctrackType": "proctrack/linuxproc",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_Core",
            "SlurmdParameters": "config_overrides",
            "MpiDefault": "none",
            "GresTypes": "gpu",
            "AccountingStorageHost": "127.0.0.1",
            "AccountingStoragePort": str(self._ports[1]),
            "AccountingStoragePass": f"{self.folder}/munge/munge.sock",
            "Prolog": str(etc / "prolog.sh"),
            "Epilog": str(etc / "epilog.sh"),
            "HealthCheckProgram": str(etc / "health.sh"),
            "UnkillableStepProgram": str(etc / "unkillable.sh"),
        }
        every = fixed | CAREFUL | dict(settings)
        set_ = [f"{key}={value}" for key, value in every.items() if value is not None]
        self.write("slurm.conf", "\n".join([*set_, *self._hardware(), *lines]) + "\n")
        leaves = f"SwitchName=s0 Nodes=gpu[1-17]\nSwitchName=s1 Nodes=gpu[18-{NODES}]\n"
        self.write("topology.conf", f"{leaves}SwitchName=top Switches=s[0-1]\n")

    def _hardware(self) -> list[str]:
        nodes = [
            f"NodeName=gpu{number + 1} NodeHostname={self._host} NodeAddr=127.0.0.1 Port={port} CPUs=8"
            f" RealMemory=1000 Gres=gpu:h200:{len(DEVICES)}"
            " State=UNKNOWN"
            for number, port in enumerate(self._ports[2:])
        ]
        gpus = [
            f"NodeName={name} Name=gpu Type=h200 File={device}\n"
            for name in (f"gpu{number + 1}" for number in range(NODES))
            for device in DEVICES[: self.devices.get(name)]
        ]
        self.write("gres.conf", "".join(gpus))
        return [*nodes, "PartitionName=train Nodes=ALL Default=YES MaxTime=7-00:00:00 State=UP"]

    def _start_munge(self) -> None:
        place = self.folder / "munge"
        key = place / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = [f"--{kind}-file={place}/munged.{kind}" for kind in ("pid", "log", "seed")]
        socket_ = place / "munge.sock"
        self.spawn(
            "munged",
            "munged",
            "--foreground",
            "--force",
            "--num-threads=10",
            f"--key-file={key}",
            f"--socket={socket_}",
            *files,
        )
        self.until(socket_.exists)

    def _start_database(self) -> None:
        data, sock, user = self.folder / "db", self.folder / "db.sock", getpass.getuser()
        own = ("--no-defaults", f"--datadir={data}")
        self.run(
            "mariadb-install-db",
            *own,
            "--auth-root-authentication-method=socket",
            "--skip-test-db",
            f"--user={user}",
        )
        self.spawn("mariadbd", "mariadbd", *own, f"--user={user}", f"--socket={sock}", "--skip-networking")
        client = ("mariadb", "--no-defaults", f"--socket={sock}", f"--user={user}")
        self.until(lambda: self.run(*client, "-e", "select 1", check=False))
        self.run(
            *client,
            "-e",
            "create user slurm@localhost identified by 'x'; grant all on *.* to slurm@localhost",
        )
        conf = self.folder / "etc" / "slurmdbd.conf"
        conf.write_text(
            f"DbdHost={self._host}\nDbdAddr=127.0.0.1\nDbdPort={self._ports[1]}\nSlurmUser={user}\n"
            f"AuthType=auth/munge\nAuthInfo=socket={self.folder}/munge/munge.sock\n"
            "StorageType=accounting_storage/mysql\nStorageHost=localhost\nStorageUser=slurm\nStoragePass=x\n"
            f"StorageLoc=slurm_accounts\nPidFile={self.folder}/slurmdbd.pid\n"
            f"LogFile={self.folder}/log/slurmdbd.log\n",
            "utf-8",
        )
        conf.chmod(0o600)
        self.spawn("slurmdbd", "slurmdbd", "-D")
        self.until(lambda: listening(self._ports[1]))


def free_ports(count: int) -> Sequence[int]:
    """Return ports of the loopback that nobody listens on, below those that clients are given."""
    order = random.sample(range(20_000, 30_000), 4 * count)
    return [port for port in order if not listening(port)][:count]


def listening(port: int) -> bool:
    """Tell whether somebody listens on a port of the loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
