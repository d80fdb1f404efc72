"""The roster: which rank ran where, on which GPU and as which process, pieced together from all lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from evenpace.diagnose.formats.launchers import Exit, exits
from evenpace.diagnose.identity import canonical_gpu
from evenpace.diagnose.model import NOBODY, Identity, Line

# What programs print about their own place; each is tried on lines that contain its literal.
_SAYINGS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (literal, re.compile(pattern))
    for literal, pattern in (
        (
            "busId",
            r"rank (?P<rank>\d{1,6}) nranks? \d{1,6} cudaDev (?P<local_rank>\d{1,3})"
            r".{0,40}?busId (?P<gpu>[0-9a-f]{3,8})",
        ),
        (
            "Pid",
            r"Rank {1,4}(?P<rank>\d{1,6}) (?:Group {1,4}\d{1,4} )?Pid {1,8}(?P<pid>\d{1,9}) on {1,8}"
            r"(?P<host>[\w.-]{1,255}) device {1,4}(?P<local_rank>\d{1,3}) \[(?P<gpu>[0-9a-fx:.]{1,20})\]",
        ),
        (
            "world_rank=",
            r"ip=(?P<host>[0-9a-f.:]{3,45}), pid=(?P<pid>\d{1,9})\) world_rank=(?P<rank>\d{1,6}), "
            r"local_rank=(?P<local_rank>\d{1,3})",
        ),
        (
            "global_rank=",
            r"hostname=(?P<host>[\w.-]{1,255}), local_rank=(?P<local_rank>\d{1,3})\(\d{1,6}\), "
            r"node=\d{1,6}\(\d{1,6}\), global_rank=(?P<rank>\d{1,6})",
        ),
    )
)
# NCCL's channels within a host: rank[device], where the device is an index or a bus id.
_CHANNEL = re.compile(
    r"(?:Channel|Ring) \d{1,4}(?:/\d{1,4})? : (\d{1,6})\[([0-9a-f]{1,8})\] -> (\d{1,6})\[([0-9a-f]{1,8})\] "
    r"via (?:SHM|P2P|direct)"
)
_WORLD = re.compile(
    r"(?:world[ _-]?size[=: ]{1,3}|WORLD_SIZE[=: ]{1,3}|nranks |num_processes[=: ]{1,3}|dist_world_size=)"
    r"(\d{1,6})"
)
_WORLD_WORDS = ("orld", "WORLD", "nranks ", "num_processes")
_ADDRESS = re.compile(
    r"(?:Bootstrap : Using|OOB|NET/Socket : Using) (?:\[\d{1,3}\])?[\w.-]{1,32}:([0-9a-f.:]{3,45}?)<"
)
# What identifies a process; one key alone counts where it is all there is to go by.
_KEYS = (("pid", "host"), ("pid",), ("rank",), ("host", "local_rank"), ("host", "gpu"))


@dataclass(slots=True)
class Roster:
    """Fill in what the logs know about a rank, a process or a GPU; what is ambiguous stays unknown.

    `world` is the number of ranks if the logs say it. `addresses` is which host an address belongs to.
    """

    world: int | None = None
    ranks: set[int] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    addresses: dict[str, str] = field(default_factory=dict)
    _by_local_rank: dict[int, set[Identity]] = field(default_factory=dict)
    _known: dict[tuple[object, ...], dict[Identity, None]] = field(default_factory=dict)

    def fill(self, identity: Identity) -> Identity:
        """Return `identity` with what follows from it, where all that is known about it agrees."""
        for keys in _KEYS:
            if (key := _key(identity, keys)) is not None:
                for field_ in ("rank", "local_rank", "host", "gpu", "pid"):
                    if getattr(identity, field_) is None:
                        identity = identity.or_else(self._agreed(key, field_))
        return identity if identity.rank is not None else identity.or_else(self._on_device(identity))

    def _on_device(self, identity: Identity) -> Identity:
        """Return the only process whose local rank is the index of the GPU, as launchers pin them."""
        index = identity.gpu if isinstance(identity.gpu, str) else ""
        known = self._by_local_rank.get(int(index), set()) if index.isdecimal() and len(index) < 4 else set()
        fitting = {
            one for one in known if identity.host in (None, one.host) and identity.pid in (None, one.pid)
        }
        return (
            next(iter(fitting)) if len({one.rank for one in fitting}) == 1 and len(known) == 1 else Identity()
        )

    def _agreed(self, key: tuple[object, ...], name: str) -> Identity:
        values = {getattr(one, name) for one in self._known.get(key, ())} - {None}
        return Identity(**{name: values.pop()}) if len(values) == 1 else Identity()

    def learn(self, identity: Identity) -> None:
        """Take in that these belong together."""
        if isinstance(identity.rank, int):
            self.ranks.add(identity.rank)
            if isinstance(identity.local_rank, int):
                self._by_local_rank.setdefault(identity.local_rank, set()).add(
                    Identity(identity.rank, identity.local_rank, identity.host, None, identity.pid)
                )
        if isinstance(identity.host, str):
            self.hosts.add(identity.host)
        for keys in _KEYS:
            if (key := _key(identity, keys)) is not None:
                known = self._known.setdefault(key, {})
                if len(known) < 64:
                    known[identity] = None

    def host_of(self, name: str) -> str:
        """Return the host that an address belongs to, or the name itself."""
        return self.addresses.get(name, name)


def roster_of(lines: Sequence[Line], ended: Iterable[Exit] | None = None) -> Roster:
    """Piece the roster together; `ended` is how processes ended, if that is known already."""
    roster = Roster()
    learnt = {NOBODY}
    for line in lines:
        text, who = line.text, line.printer
        if who not in learnt:
            learnt.add(who)
            roster.learn(who)
        for said in sayings(line):
            roster.learn(said)
        found = _ADDRESS.search(text) if "sing " in text or "OOB" in text else None
        if found and isinstance(who.host, str):
            roster.addresses.setdefault(found[1], who.host)
        if any(word in text for word in _WORLD_WORDS):
            roster.world = max((roster.world or 0, *map(int, _WORLD.findall(text)))) or roster.world
    for one in exits(lines) if ended is None else ended:
        roster.learn(one.who)
    return roster


def sayings(line: Line) -> Iterator[Identity]:
    """Yield what a line says about who runs where."""
    for literal, pattern in _SAYINGS:
        if literal in line.text:
            for found in pattern.finditer(line.text):
                yield _identity(found.groupdict()).or_else(line.printer)
    if " via " in line.text and line.printer.host and (ends := _CHANNEL.search(line.text)):
        for rank, gpu in (ends.group(1, 2), ends.group(3, 4)):
            yield Identity(rank=int(rank), host=line.printer.host, gpu=gpu)


def _identity(said: dict[str, str]) -> Identity:
    numbers = {name: int(said[name]) for name in ("rank", "local_rank", "pid") if said.get(name)}
    return Identity(host=said.get("host"), gpu=said.get("gpu"), **numbers)


def _key(identity: Identity, names: Iterable[str]) -> tuple[object, ...] | None:
    key = []
    for name in names:
        value = getattr(identity, name)
        if value is None or isinstance(value, tuple):
            return None
        key.append((name, canonical_gpu(value) if name == "gpu" else value))
    return tuple(key)
