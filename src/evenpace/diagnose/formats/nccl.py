"""Headers of NCCL, nccl-tests and c10d: host, process and device, and which `Rank` is the global one."""

from __future__ import annotations

import re

from evenpace.diagnose.model import NOBODY, Identity

HOST = r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,253}"
_HEADER = re.compile(rf"({HOST}):(\d{{1,8}}):(\d{{1,8}}) \[(-?\d{{1,6}})\]\s?")
_HEADERS = re.compile(
    rf"(?m)^[^\S\n]{{0,8}}(?:\[[^\]\n]{{1,40}}\] ?)?({HOST}):\d{{1,8}}:\d{{1,8}} \[-?\d{{1,6}}\] "
)
_TEST = re.compile(rf"({HOST}): Test (?:NCCL|CUDA) failure|\s?\.\. ({HOST}) pid (\d{{1,9}}): Test failure")
_MOST_DEVICES = 128

_GROUP = re.compile(
    r"\[PG (?:ID \d{1,6} PG GUID )?([^\s()\[\]]{0,120})\s?(?:\(([^()\[\]]{0,120})\))? Rank (\d{1,7})\]"
)
_UNNAMED = (None, "", "undefined", "default_pg")


def header(text: str, at: int) -> tuple[int, Identity] | None:
    """Return end and printer of `host:pid:tid [dev] ` at `at`."""
    found = _HEADER.match(text, at)
    if not found:
        return None
    device = int(found[4])
    gpu = str(device) if 0 <= device < _MOST_DEVICES else None
    return found.end(), Identity(host=found[1], pid=int(found[2]), gpu=gpu)


def hosts(text: str) -> frozenset[str]:
    """Return the hosts of all NCCL headers that begin a line of `text`."""
    return frozenset(_HEADERS.findall(text))


def test_failure(text: str, at: int) -> Identity:
    """Return who printed a failure of nccl-tests that begins at `at`."""
    found = _TEST.match(text, at)
    if not found:
        return NOBODY
    return Identity(host=found[1] or found[2], pid=int(found[3]) if found[3] else None)


def global_rank(text: str, at: int, end: int = 4096) -> int | None:
    """Return the global rank that c10d prints with the group's name, if it is the default group."""
    if group := _GROUP.search(text, at, end):
        name, description, rank = group.groups()
        if description == "default_pg" or (name == "0" and description in _UNNAMED):
            return int(rank)
    return None
