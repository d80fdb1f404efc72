"""Which rank is out of step, or never joined, when collectives do not match or complete.

A timeout alone blames nobody: whoever reports it waits. Ranks are compared within one process group only,
and a rank is named by a report that names it, or as a minority against a clear majority of three and more.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import re2

from evenpace.diagnose.formats import c10d
from evenpace.diagnose.formats.c10d import Named, Running, Stuck, spelled
from evenpace.diagnose.formats.process_groups import Group, World, groups_of, rank_of, world_of
from evenpace.diagnose.identity import one_or_all
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Identity, Line, Sighting

_LONGEST = 4096
_SHOWN = 8  # lines of evidence
_FRAME = re.compile(
    r"(?:#\d{1,3} )?(?P<name>[\w.<>]{1,120}) (?:from|at) (?P<where>[^\s:]{1,300}\.py:\d{1,7})|"
    r'File "(?P<file>[^"]{1,300}\.py)", line (?P<line>\d{1,7}), in (?P<caller>[\w.<>]{1,120})'
)
_LIBRARY = re.compile(
    r"site-packages/|dist-packages/|lib/python3|/torch/|^torch/|distributed_c10d|c10d_logger|<frozen"
)
_DIED = re.compile(
    r"Traceback \(most recent|\b\w{1,60}(?:Error|Exception): |\bKilled\b|Segmentation fault|Signal (?!15\b)\d"
)
_MAY_HAVE_DIED = re2.compile(r"Traceback|Error: |Exception: |Killed|Segmentation|Signal \d", options())
_WAITED = re.compile(r"ProcessGroup|[Ww]atchdog|[Gg]loo|NCCL|DistBackendError|DistNetworkError|collective")
_SEQUEL = 0.4  # certainty where the missing rank had died: then that is the cause
_STACK = 40  # lines after a report in which its stack is looked for
_Key = TypeVar("_Key", bound=Hashable)


def judge(case: Case) -> Iterator[Sighting]:
    """Yield who is out of step with the others, or that somebody is."""
    records = case.once(c10d.records_in)
    if not records:
        return
    stuck = [one for one in records if isinstance(one, Stuck)]
    world = world_of(case, stuck)
    running = [one for one in records if isinstance(one, Running)]
    named = list(_reported(case, _together(one for one in records if isinstance(one, Named)), stuck, world))
    yield from named
    mismatch = list(_mismatch(case, running))
    yield from mismatch
    if named or mismatch:
        return
    groups = groups_of(records, world)
    yield from list(_not_joined(case, groups)) or _out_of_step(case, groups, world)


def majority(keys: Mapping[int, _Key], size: int | None = None) -> tuple[_Key, tuple[int, ...]] | None:
    """Return what a clear majority of ranks has, and the ranks that differ; None where there is none.

    Clear: three ranks or more are known, at least half of the job where its size is known, and more than
    half of them agree.
    """
    by_key: dict[_Key, set[int]] = defaultdict(set)
    for rank, key in keys.items():
        by_key[key].add(rank)
    common, agreeing = max(by_key.items(), key=lambda item: len(item[1]))
    others = tuple(sorted(set(keys) - agreeing))
    clear = len(keys) >= 3 and 2 * len(agreeing) > len(keys) and 2 * len(keys) >= (size or 0)
    return (common, others) if clear and others else None


def where_of(lines: Iterable[Line]) -> dict[str, str]:
    """Return the first frame outside the libraries in `lines` as captures `where` and `caller`, if any."""
    for line in lines:
        for found in _FRAME.finditer(line.text[:_LONGEST]):
            where = found["where"] or f"{found['file']}:{found['line']}"
            if not _LIBRARY.search(where):
                return {"where": where, "caller": found["name"] or found["caller"]}
    return {}


def after(case: Case, line: Line, count: int = _STACK) -> list[Line]:
    """Return the lines of the same file that follow within `count`."""
    of_file = case.by_source.get(line.source, [])
    return [one for one in of_file if line.number <= one.number <= line.number + count]


def evidence(first: Line, others: Iterable[Line]) -> tuple[Line, ...]:
    """Return `first` and further lines, each once, and not too many."""
    return tuple(dict.fromkeys((first, *others)))[:_SHOWN]


def ranks(values: Iterable[int]) -> Identity:
    """Return the identity of one or several global ranks."""
    return Identity(rank=one_or_all(tuple(sorted(set(values)))))


def _together(named: Iterable[Named]) -> list[Named]:
    """Return reports, with what one file says of a barrier in several lines as one."""
    kept: dict[tuple[object, ...], Named] = {}
    for one in named:
        key = (one.line.source, one.how, one.seq, () if one.how == "barrier" else one.ranks)
        known = kept.get(key)
        kept[key] = replace(known, ranks=tuple(sorted({*known.ranks, *one.ranks}))) if known else one
    return list(kept.values())


def _reported(case: Case, named: Sequence[Named], stuck: Sequence[Stuck], world: World) -> Iterator[Sighting]:
    """Yield what c10d's own reports name: desync reports and monitored barriers."""
    reporters = {rank for one in stuck if (rank := rank_of(one, world)) is not None}
    done = set[tuple[str, tuple[int, ...]]]()
    for one in named:
        others = [other for other in named if other.line.source == one.line.source]
        if (one.how, one.ranks) in done:
            continue
        done.add((one.how, one.ranks))
        captures = {"ranks": spelled(one.ranks), **_sequence(one), **where_of(after(case, one.line))}
        lines = evidence(one.line, [other.line for other in stuck])
        culprit, victims = _blame(one.ranks, reporters)
        culprit = NOBODY if world.split or _is_half(one.ranks, world) else culprit
        if one.how == "joined" and _is_everybody(one, others, world):
            yield Sighting("all-ranks-joined", lines, NOBODY, (), captures)
        else:
            name = "monitored-barrier" if one.how == "barrier" else "desync-report"
            yield Sighting(name, lines, culprit, victims, captures, after_death(case, one.ranks))


def _is_half(blamed: Sequence[int], world: World) -> bool:
    """Tell whether so many ranks are named that the fault is hardly theirs."""
    return len(blamed) > 1 and 2 * len(blamed) >= (world.size or max((*world.seen, *blamed)) + 1)


def after_death(case: Case, blamed: Iterable[int]) -> float | None:
    """Return the certainty that is left where a blamed rank itself printed why it ended, else None."""
    return _SEQUEL if case.once(_dead) & set(blamed) else None


def _dead(case: Case) -> set[int | None]:
    """Return the ranks that printed why they ended."""
    ends = [line for line in case.lines_with(_MAY_HAVE_DIED) if _DIED.search(line.text[:_LONGEST])]
    return {c10d.global_rank(line) for line in ends if not _WAITED.search(line.text[:_LONGEST])}


def _sequence(one: Named) -> dict[str, str]:
    if one.seq is None:
        return {}
    seq = str(one.seq + 1 if one.how == "finished" else one.seq)
    return {"sequence": seq, "where": f"#{seq}"}


def _is_everybody(one: Named, others: Sequence[Named], world: World) -> bool:
    """Tell whether all ranks are in the same collective: then none of them is behind."""
    elsewhere = any(other.how != "joined" for other in others)
    everybody = world.size or max((*world.seen, *one.ranks)) + 1
    return not elsewhere and len(one.ranks) >= everybody


def _blame(blamed: Iterable[int], reporters: Iterable[int]) -> tuple[Identity, tuple[Identity, ...]]:
    """Return the blamed ranks, and as victims those who report without being blamed."""
    victims = set(reporters) - set(blamed)
    return ranks(blamed), (ranks(victims),) if victims else ()


def _mismatch(case: Case, running: Sequence[Running]) -> Iterator[Sighting]:
    """Yield a mismatch that the check of collectives printed (TORCH_DISTRIBUTED_DEBUG=DETAIL)."""
    if not running:
        return
    first = running[0].line
    own = [one for one in running if one.reporter is not None]
    heads = {one.line: one for one in reversed(own)}
    local = any(one.reporter != one.rank for one in heads.values())
    keys = {one.rank: (one.seq, one.op, one.shape) for one in running}
    captures = {"operation": running[0].op, **where_of(after(case, first))}
    found = None if local else majority(keys)
    if found is None:
        lines = evidence(first, [one.line for one in running])
        yield Sighting("collective-mismatch", lines, NOBODY, (), captures)
        return
    common, others = found
    captures |= {"ranks": spelled(others), "theirs": _run(keys[others[0]]), "common": _run(common)}
    lines = evidence(first, [one.line for one in running])
    victims = ranks(set(keys) - set(others))
    yield Sighting("collective-mismatch-rank", lines, ranks(others), (victims,), captures)


def _run(key: tuple[int | None, str, str | None]) -> str:
    seq, op, shape = key
    return op + (f" [{shape}]" if shape is not None else "") + (f" #{seq}" if seq is not None else "")


def _not_joined(case: Case, groups: Sequence[Group]) -> Iterator[Sighting]:
    """Yield ranks that say themselves that they never enqueued what the others of the group wait in."""
    everybody = {rank for group in groups for rank in group.waiting}
    for group in groups:
        steps = [one.seq for one in group.waiting.values() if one.seq is not None and one.op]
        front = min(steps, default=0)
        behind = {
            rank: state
            for rank, state in group.reached.items()
            if rank not in everybody and 0 <= state.enqueued < front
        }
        if not behind or len(behind) > max(1, len(group.waiting) - 1):
            continue
        pair = len(behind) == len(group.waiting)  # one waits, one is missing: hardly a majority
        lines = evidence(next(iter(behind.values())).line, [state.line for state in behind.values()])
        captures = {"ranks": spelled(behind), "sequence": str(front), "group": group.name}
        captures |= where_of(after(case, group.lines[0]))
        culprit, victims = _blame(behind, group.waiting)
        lines = evidence(lines[0], (*lines, *group.lines))
        sure = after_death(case, behind) or (0.65 if pair else None)
        yield Sighting("rank-not-joined", lines, culprit, victims, captures, sure)


def _out_of_step(case: Case, groups: Sequence[Group], world: World) -> Iterator[Sighting]:
    """Yield ranks that wait in another collective than the others of their group, or who is silent."""
    for group in groups:
        keys = {
            rank: (one.seq, one.op) for rank, one in group.waiting.items() if one.seq is not None and one.op
        }
        captures = {"group": group.name, **where_of(after(case, group.lines[0]))}
        if len(set(keys.values())) < 2:
            yield from _same_step(group, captures, world)
        else:
            yield _different_steps(keys, group, captures, world)


def _different_steps(
    keys: Mapping[int, tuple[int | None, str]], group: Group, captures: dict[str, str], world: World
) -> Sighting:
    each = {keys[rank]: rank for rank in sorted(keys, reverse=True)}
    lines = [group.waiting[rank].line for rank in sorted(each.values())]
    found = majority(keys, world.size)
    if found is None:
        captures["steps"] = "; ".join(f"{rank}: {op} #{seq}" for (seq, op), rank in sorted(each.items())[:6])
        return Sighting("seqnum-differs", evidence(lines[0], (*lines, *group.lines)), NOBODY, (), captures)
    (seq, op), others = found
    theirs = keys[others[0]]
    captures |= {"ranks": spelled(others), "theirs": f"{theirs[1]} #{theirs[0]}", "common": f"{op} #{seq}"}
    shown = evidence(group.waiting[others[0]].line, (*lines, *group.lines))
    return Sighting("seqnum-minority", shown, *_blame(others, keys), captures)


def _same_step(group: Group, captures: dict[str, str], world: World) -> Iterator[Sighting]:
    """Yield the one rank that does not report, or that all of a known world are in the same collective."""
    first = next(iter(group.waiting.values()))
    if first.op:
        captures |= {"operation": first.op, "sequence": str(first.seq)}
    if world.split or group.name not in ("", "0") or len(group.waiting) < 3:
        return
    absent = world.absent(group.waiting)
    lines = evidence(first.line, [one.line for one in group.waiting.values()])
    if not absent and world.size is not None and first.seq is not None:
        yield Sighting("all-ranks-timed-out", lines, NOBODY, (), captures)
    elif len(absent) == 1:
        captures["ranks"] = spelled(absent)
        silent, victims = _blame(absent, group.waiting)
        if world.size is None:  # its lines may only be missing from what was given
            yield Sighting("one-rank-silent", lines, NOBODY, victims, captures, 0.3)
        else:
            yield Sighting("one-rank-silent", lines, silent, victims, captures)
