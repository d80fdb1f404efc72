"""Which ranks there are, as far as logs tell: how many, who printed, and who waits in which process group."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import re2

from evenpace.diagnose.formats import c10d
from evenpace.diagnose.formats.c10d import Record, Status, Stuck
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import Case, Line

_MEMBER = re.compile(r"(?:MEMBER: \d{1,6}/|registered\. Starting with )(\d{1,6})\b")
_SPLIT = re.compile(
    r"(?:tensor|pipeline|expert|context)[-_ ](?:model[-_ ])?parallel(?:[-_ ]\w{1,8})?[-_ ]size\W{1,60}0{0,3}"
    r"(?:[2-9]|[1-9]\d)\b",
    re.IGNORECASE,
)
_LONGEST = 4096
_ONE_SIDED = frozenset({"SEND", "RECV", "COALESCED", "UNKNOWN"})
_SIZES = re2.compile(r"(?i:parallel(?:[-_ ]\w{1,8})?[-_ ]size)|registered\. Starting|MEMBER: ", options())


@dataclass(frozen=True)
class World:
    """Say how many ranks there are (`size`, None if unknown), which printed, and whether groups split them.

    With `split`, a rank inside a group says nothing about the global rank.
    """

    size: int | None
    seen: frozenset[int]
    split: bool

    def absent(self, reporters: Iterable[int]) -> frozenset[int]:
        """Return the ranks that are not among `reporters`, of as many as are known to exist."""
        known = set(reporters)
        everybody = range(self.size) if self.size else range(max((*self.seen, *known), default=-1) + 1)
        return frozenset(everybody) - known


def world_of(case: Case, stuck: Iterable[Stuck] = ()) -> World:
    """Read the world from all lines; `stuck` are the timeouts found in them."""
    stuck = list(stuck)
    seen, split, sizes = case.roster.ranks | c10d.ranks_before(case), False, [case.roster.world or 0]
    for line in case.lines_with(_SIZES):
        sizes += [int(found[1]) for found in _MEMBER.finditer(line.text[:_LONGEST])]
        split = split or _SPLIT.search(line.text[:_LONGEST]) is not None
    split = split or _same_rank_twice(stuck)
    if not split:
        seen |= {one.group_rank for one in stuck if one.rank is None and one.group_rank is not None}
    size = max(sizes)
    return World(size if size > max(seen, default=0) else None, frozenset(seen), split)


def _same_rank_twice(stuck: Iterable[Stuck]) -> bool:
    """Tell whether several processes call themselves by one rank, or a rank differs from the global one."""
    runs: dict[int, set[float]] = {}
    for one in stuck:
        if one.rank is not None:
            if one.group_rank is not None and one.group_rank != one.rank:
                return True
        elif one.group_rank is not None and one.ran is not None:
            runs.setdefault(one.group_rank, set()).add(one.ran)
    return any(len(of_rank) > 1 for of_rank in runs.values())


def rank_of(one: Stuck | Status, world: World) -> int | None:
    """Return the global rank of a record: printed, or that within the group if there is but one group."""
    if one.rank is not None:
        return one.rank
    return None if world.split or one.group not in ("", "0") else one.group_rank


@dataclass
class Group:
    """Hold what is known of one process group: who waits in what, and how far others say they came.

    Keys are global ranks. `lines` are all records of timeouts in it.
    """

    name: str
    waiting: dict[int, Stuck] = field(default_factory=dict)
    reached: dict[int, Status] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)


def groups_of(records: Iterable[Record], world: World) -> list[Group]:
    """Sort timeouts and states into process groups; what cannot be assigned to one is left out.

    A timeout does not name its group; the record of the same rank and sequence number that follows it does.
    """
    records = list(records)
    stuck = [one for one in records if isinstance(one, Stuck)]
    states = [one for one in records if isinstance(one, Status)]
    names = {(one.rank, one.group_rank, one.seq): one.group for one in stuck if one.group}
    known = {one.group for one in stuck if one.group} | {state.group for state in states if state.group}
    default = None if len(known) > 1 or world.split else next(iter(known), "")
    found: dict[str, Group] = {}
    for one in stuck:
        name = one.group or names.get((one.rank, one.group_rank, one.seq), default)
        rank = rank_of(one, world)
        if name is None or rank is None or one.op in _ONE_SIDED:
            continue
        group = found.setdefault(name, Group(name))
        group.lines.append(one.line)
        if rank not in group.waiting or not group.waiting[rank].op:
            group.waiting[rank] = one
    for state in states:
        name, rank = state.group or default, rank_of(state, world)
        if name in found and rank is not None:
            found[name].reached[rank] = state
    return list(found.values())
