"""Each rank in a network namespace of its own, joined by a bridge, so that links can be slowed and healed.

Needs root, `ip` and `tc`. Shaped by HTB: one class for each directed pair of ranks, under one for the whole
uplink. Nothing outside the namespaces is touched, and they go on exit, whatever happens inside.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

FULL = "10gbit"
SMALL = "1mbit"  # what a class of a pair has by itself; all else it borrows from the uplink's


@dataclass(frozen=True, slots=True)
class Network:
    """Namespaces of so many ranks; `prefix` is their name without the rank."""

    prefix: str
    ranks: int

    def environment(self) -> dict[str, str]:
        """Return what `forkrun.py` needs to put each rank into its namespace."""
        return {
            "EVENPACE_BENCH_NETNS": self.prefix,
            "EVENPACE_BENCH_MASTER": self.address(0),
            "GLOO_SOCKET_IFNAME": "eth0",
        }

    def address(self, rank: int) -> str:
        """Return the address of a rank."""
        return f"10.99.0.{rank + 1}"

    @contextlib.contextmanager
    def slow_pair(self, source: int, target: int, bits: float) -> Iterator[None]:
        """Give what `source` sends to `target` so many bits a second."""
        self._shape(source, f"1:{target + 16:x}", "1:1", SMALL, f"{int(bits)}bit")
        try:
            yield
        finally:
            self._shape(source, f"1:{target + 16:x}", "1:1", SMALL, FULL)

    @contextlib.contextmanager
    def slow_uplink(self, source: int, bits: float) -> Iterator[None]:
        """Give all that `source` sends so many bits a second."""
        self._shape(source, "1:1", "1:", f"{int(bits)}bit", f"{int(bits)}bit")
        try:
            yield
        finally:
            self._shape(source, "1:1", "1:", FULL, FULL)

    def _shape(self, rank: int, name: str, parent: str, rate: str, most: str) -> None:
        _tc(
            f"{self.prefix}{rank}", f"class change dev eth0 parent {parent} classid {name} {_htb(rate, most)}"
        )


@contextlib.contextmanager
def network(ranks: int) -> Iterator[Network]:
    """Set the namespaces up, and take them down again, also where the bench is told to end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    prefix = f"ep{secrets.token_hex(2)}-"
    made = Network(prefix, ranks)
    names = [f"{prefix}sw", *(f"{prefix}{rank}" for rank in range(ranks))]
    try:
        for name in names:
            _run(f"ip netns add {name}")
        _run(f"ip -n {prefix}sw link add br0 type bridge")
        _run(f"ip -n {prefix}sw link set br0 up")
        for rank in range(ranks):
            _connect(made, rank)
        yield made
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL, check=False)


def _connect(made: Network, rank: int) -> None:
    """Plug a rank into the bridge and lay its classes out."""
    own, switch = f"{made.prefix}{rank}", f"{made.prefix}sw"
    _run(f"ip -n {own} link add eth0 type veth peer name port{rank} netns {switch}")
    _run(f"ip -n {own} addr add {made.address(rank)}/24 dev eth0")
    for device in ("lo", "eth0"):
        _run(f"ip -n {own} link set {device} up")
    _run(f"ip -n {switch} link set port{rank} master br0 up")
    _tc(own, "qdisc add dev eth0 root handle 1: htb default 2")
    _tc(own, f"class add dev eth0 parent 1: classid 1:1 {_htb(FULL, FULL)}")
    _tc(own, f"class add dev eth0 parent 1:1 classid 1:2 {_htb(SMALL, FULL)}")
    for peer in set(range(made.ranks)) - {rank}:
        _tc(own, f"class add dev eth0 parent 1:1 classid 1:{peer + 16:x} {_htb(SMALL, FULL)}")
        match = f"u32 match ip dst {made.address(peer)}/32 flowid 1:{peer + 16:x}"
        _tc(own, f"filter add dev eth0 parent 1: protocol ip {match}")


def _htb(rate: str, most: str) -> str:
    return f"htb rate {rate} ceil {most} burst 16k cburst 16k quantum 60000"


def _tc(namespace: str, command: str) -> None:
    _run(f"ip netns exec {namespace} tc {command}")


def _run(command: str) -> None:
    subprocess.run(command.split(), check=True)


def available() -> bool:
    """Tell whether namespaces can be made here."""
    if os.geteuid() != 0:
        return False
    try:
        with network(1):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False
