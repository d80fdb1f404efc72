"""Dumps of PyTorch's flight recorder: JSON, pickles of plain data, and what its analyzer prints.

A dump is untrusted: of pickles only plain data are read. Gloo's dumps differ: an entry stays `scheduled` for
ever and is done once `retired`, the groups have no members, and only `collective_seq_id` can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from evenpace.diagnose.formats.plain_pickle import read_pickle
from evenpace.diagnose.model import Line

LARGEST = 64 << 20  # bytes of a dump
MOST_ENTRIES = 20_000
_MOST_FRAMES = 64
_MOST_PARTS = 16  # tensors of one operation, and dimensions of one
_RANK = re.compile(
    r"(?:rank|trace|[_\-.])[_\-.]?(\d{1,6})(?:\.(?:json|pkl|pickle|bin|txt|dump))?$", re.IGNORECASE
)
_SKIP = re.compile(
    r"site-packages/|dist-packages/|/torch/|^torch/|<frozen|lib/python3|distributed_c10d|c10d_logger"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One operation of one rank. `key` is what must be equal on all ranks; `where` the user's own frame."""

    group: str
    seq: int
    op: str
    key: tuple[str, ...]
    done: bool
    p2p: bool = False
    created: int = 0
    where: str = ""
    caller: str = ""


@dataclass(frozen=True, slots=True)
class Dump:
    """What one rank recorded: its groups by name (members are global ranks) and its latest operations."""

    source: str
    rank: int | None
    groups: Mapping[str, tuple[int, ...]]
    names: Mapping[str, str]
    entries: tuple[Entry, ...]


@dataclass
class Block:
    """One complaint of the analyzer (`torchfrtrace`), with global ranks. `wrong`: what differs, by rank."""

    line: Line
    lines: list[Line] = field(default_factory=list)
    seq: str = ""
    group: str = ""
    op: str = ""
    state: str = ""
    missing: frozenset[int] = frozenset()
    expected: frozenset[int] = frozenset()
    wrong: dict[int, str] = field(default_factory=dict)
    where: str = ""
    caller: str = ""


def read_dump(source: str, data: bytes) -> Dump | None:
    """Return the dump in a file's bytes, or None if they are none or cannot be read."""
    if len(data) > LARGEST or b"collective_seq_id" not in data:
        return None
    try:
        content = msgspec.json.decode(data) if data.lstrip()[:1] == b"{" else read_pickle(data)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return _dump(source, content) if isinstance(content, dict) else None


def _dump(source: str, content: dict[object, object]) -> Dump | None:
    entries = content.get("entries")
    if not isinstance(entries, list):
        return None
    found = _RANK.search(source.replace("\\", "/").rsplit("/", 1)[-1])
    config = content.get("pg_config")
    groups = dict(_members(config)) if isinstance(config, dict) else {}
    read = [entry for one in entries[-MOST_ENTRIES:] if isinstance(one, dict) and (entry := _entry(one))]
    described = [_texts(one.get("process_group")) for one in entries[-1024:] if isinstance(one, dict)]
    names = {names[0]: names[-1] for names in described if names}
    return Dump(source, int(found[1]) if found else None, groups, names, tuple(read))


def _members(config: dict[object, object]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name, group in list(config.items())[:4096]:
        if isinstance(group, dict) and name:
            listed = str(group.get("ranks", ""))[:1_000_000]
            members = tuple(int(one) for one in re.findall(r"\d{1,7}", listed))
            if members:
                yield str(name), members


def _entry(one: dict[object, object]) -> Entry | None:
    group, seq = _texts(one.get("process_group")), one.get("collective_seq_id")
    if not group or not isinstance(seq, int):
        return None
    backend, _, op = str(one.get("profiling_name", ""))[:200].rpartition(":")
    state = str(one.get("state", ""))
    done = state == "completed" or (backend == "gloo" and one.get("retired") is True)
    created = one.get("time_created_ns")
    where, caller = _own_frame(one.get("frames"))
    p2p = one.get("is_p2p") is True or op.startswith(("send", "recv"))
    return Entry(
        group[0], seq, op, _key(op, one), done, p2p, created if isinstance(created, int) else 0, where, caller
    )


def _key(op: str, one: Mapping[object, object]) -> tuple[str, ...]:
    """Return what must be equal on all ranks: sizes only where the operation asks for equal ones."""
    if op in ("gather", "scatter") or "all_to_all" in op or "alltoall" in op:
        return (op,)
    parts = ("input_sizes", "output_sizes", "input_dtypes", "output_dtypes")
    return (op, *(_spelled(one.get(part)) for part in parts))


def _spelled(value: object, depth: int = 0) -> str:
    if isinstance(value, list | tuple) and depth < 2:
        return "[" + ", ".join(_spelled(one, depth + 1) for one in value[:_MOST_PARTS]) + "]"
    return str(value)[:40] if isinstance(value, str | int | float | None) else "?"


def _texts(value: object) -> list[str]:
    return [str(one)[:200] for one in value[:4]] if isinstance(value, list | tuple) else []


def _own_frame(frames: object) -> tuple[str, str]:
    for frame in frames[:_MOST_FRAMES] if isinstance(frames, list) else ():
        if isinstance(frame, dict):
            name, line = str(frame.get("filename", ""))[:300], frame.get("line")
            if name and not _SKIP.search(name):
                return f"{name}:{line}", str(frame.get("name", ""))[:120]
    return "", ""


_HEAD = re.compile(
    r"Not all ranks joining collective[:,]?(?: sequence number:)? ?(?P<seq>\d{1,18})?|"
    r"Collective sequence number: (?P<seq2>\d{1,18}) has errors|"
    r"Input/output mismatch in the collective sequence number: (?P<seq3>\d{1,18})"
)
_ITEM = re.compile(
    r"\b(group info|collective state|collective|missing ranks|expected ranks|error msg): ?(.{0,65536})"
)
_OLD = re.compile(
    r"for group (?P<group>\S{1,200}) collective (?P<op>\S{1,100})"
    r"(?: missing ranks (?P<missing>[{\[][\d, ]{1,65536}))?"
)
_CULPRIT = re.compile(r"Culprit rank (\d{1,6}); Error type: (\w{1,60})")
_CALL = re.compile(r"^\s{0,8}(?P<name>[\w.<>]{1,120}) at (?P<where>\S{1,300}:\d{1,7})\s*$")
_STATES = ("completed ", "started ", "scheduled ")
_LISTED = re.compile(r"^(completed|started|scheduled) (?:\w{1,12}:)(\w{1,60})")
_LISTED_CALL = re.compile(r"^\s{2,8}([\w.<>]{1,120}) (\S{1,300}\.py:\d{1,7})\s*$")
_LENGTH = 60  # lines of one complaint


def blocks(lines: Iterable[Line]) -> list[Block]:
    """Return the complaints that the analyzer printed in `lines`, in their order."""
    found: list[Block] = []
    for line in lines:
        text = line.text
        may_begin = "ranks joining" in text or "ollective sequence" in text
        if may_begin and (head := _HEAD.search(text[:4096])):
            seq = head["seq"] or head["seq2"] or head["seq3"] or ""
            found.append(Block(line, [line], seq))
            if old := _OLD.search(line.text[:131072]):
                found[-1].group, found[-1].op = old["group"], old["op"]
                found[-1].missing = _numbers(old["missing"] or "")
        elif found and _belongs(found[-1], line):
            _add(found[-1], line)
    return found


def _belongs(block: Block, line: Line) -> bool:
    return line.source == block.line.source and line.number - block.line.number < _LENGTH


def _add(block: Block, line: Line) -> None:
    if item := _ITEM.search(line.text[:131072]):
        name, value = item[1], item[2].strip()
        if name in ("missing ranks", "expected ranks"):
            setattr(block, name.split(" ")[0], _numbers(value))
        elif name == "error msg":
            block.wrong = {int(rank): kind for rank, kind in _CULPRIT.findall(value)}
        else:
            setattr(block, {"group info": "group", "collective": "op"}.get(name, "state"), value[:200])
        block.lines.append(line)
    elif (call := _CALL.search(line.text[:1024])) and not block.where and not _SKIP.search(call["where"]):
        block.where, block.caller = call["where"], call["name"]
        block.lines.append(line)


def _numbers(text: str) -> frozenset[int]:
    return frozenset(int(one) for one in re.findall(r"\d{1,7}", text))


def listed(lines: Iterable[Line]) -> Iterator[tuple[Line, str, str, Line | None]]:
    """Yield each entry of a plain listing: its line, state, operation, and the line of its first call."""
    held: tuple[Line, str, str] | None = None
    for line in lines:
        if held is not None:
            yield (*held, line if _LISTED_CALL.search(line.text[:1024]) else None)
            held = None
        if line.text.startswith(_STATES) and (entry := _LISTED.search(line.text[:1024])):
            held = (line, entry[1], entry[2])
    if held is not None:
        yield (*held, None)
