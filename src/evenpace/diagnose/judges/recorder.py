"""Which rank is out of step, by what the flight recorder kept, or by what its analyzer says of it.

The analyzer takes the first rank for right, so that one bad first rank makes culprits of all the others:
here the majority is right, and without one nobody is named. A rank that waits in another group is not blamed
for being absent in this one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from evenpace.detect.waitfor import RECEIVES_FROM_ANYBODY, HangKind, Pending, RankState, Snapshot
from evenpace.detect.waitfor import judge as judge_waits
from evenpace.diagnose.formats.c10d import spelled
from evenpace.diagnose.formats.flight_recorder import Block, Dump, Entry, blocks, listed
from evenpace.diagnose.judges.collectives import after_death, majority, ranks
from evenpace.diagnose.model import NOBODY, Case, Identity, Line, Sighting

_SHOWN = 8
_STATES = frozenset({"COLLECTIVE_STATE_MISMATCH", "UNDECIDED", "FULLY_MATCHED"})
_Steps = dict[int, dict[int, list[Entry]]]  # rank → sequence number → what was called with it


def judge(case: Case) -> Iterator[Sighting]:
    """Yield who did not join, or called something else, as far as dumps tell."""
    yield from _analyzed(case, blocks(case.lines))
    dumps = {one.rank: one for one in case.dumps if isinstance(one, Dump) and one.rank is not None}
    if len(dumps) > 1:
        yield from _compared({rank: dump for rank, dump in dumps.items() if rank is not None})
    else:
        yield from _alone([one for one in case.dumps if isinstance(one, Dump)])
        yield from _listing(case)


def _analyzed(case: Case, found: Sequence[Block]) -> Iterator[Sighting]:
    first: dict[str, Block] = {}
    for block in found:
        if block.missing or set(block.wrong.values()) - _STATES:
            first.setdefault(block.group, block)
    waiting = frozenset[int]().union(
        *(block.expected - block.missing for block in first.values() if block.missing)
    )
    for block in first.values():
        yield from _differing(block) if block.wrong else _absent(case, block, waiting, alone=len(first) == 1)


def _absent(case: Case, block: Block, waiting: frozenset[int], *, alone: bool) -> Iterator[Sighting]:
    """Yield ranks that are missing, unless they are most of the group or wait in another one."""
    roots = block.missing if alone else block.missing - waiting
    few = 2 * len(roots) <= len(block.expected or roots) or not block.expected
    captures = _of_block(block) | {"ranks": spelled(roots or block.missing)}
    culprit = ranks(roots) if few and roots else NOBODY
    present = block.expected - block.missing
    if roots or alone:
        victims = (ranks(present),) if present and culprit else ()
        lines, left = tuple(block.lines[:_SHOWN]), after_death(case, roots)
        yield Sighting("recorder-missing-ranks", lines, culprit, victims, captures, left)


def _differing(block: Block) -> Iterator[Sighting]:
    """Yield ranks that called something else: by majority, whichever rank was compared with."""
    wrong = frozenset(rank for rank, kind in block.wrong.items() if kind not in _STATES)
    everybody = block.expected | wrong
    right = everybody - wrong
    fewer = min(wrong, right, key=len)
    clear = len(everybody) >= 3 and 2 * len(fewer) < len(everybody) and len(fewer) > 0
    captures = _of_block(block) | {
        "differs": ", ".join(sorted(set(block.wrong.values()))).lower().replace("_", " ")
    }
    if clear:
        captures["ranks"] = spelled(fewer)
        victims = (ranks(everybody - fewer),)
        yield Sighting("recorder-mismatch", tuple(block.lines[:_SHOWN]), ranks(fewer), victims, captures)
    else:
        yield Sighting("recorder-differs", tuple(block.lines[:_SHOWN]), NOBODY, (), captures)


def _of_block(block: Block) -> dict[str, str]:
    operation = block.op.rpartition(":")[2] or block.op
    return _captures(operation, block.seq, block.group, block.where, block.caller)


def _captures(operation: str, seq: str, group: str, where: str, caller: str) -> dict[str, str]:
    """Return the captures; where no frame is known, the call is named by its operation and number."""
    said = {"operation": operation, "sequence": seq, "group": group}
    return said | {"where": where or f"#{seq}", "caller": caller if where else operation}


def _compared(dumps: Mapping[int, Dump]) -> Iterator[Sighting]:
    """Yield the first operation that ranks called differently, else whom the others wait for."""
    groups = _by_group(dumps)
    differing = [found for name, steps in groups.items() if (found := _first_difference(name, steps))]
    if differing:
        _, name, seq = min(differing)
        yield _different(seq, groups[name], dumps)
        return
    verdict = judge_waits(_snapshot(groups, dumps), quiet_since=0.0)
    if verdict.kind is HangKind.NONE:
        return
    stuck = next((entry for dump in dumps.values() for entry in dump.entries if not entry.done), None)
    captures = _of_entry(stuck, dumps) if stuck else {}
    lines = _lines(dumps, (*verdict.culprits, *verdict.cycle, *verdict.victims))
    victims = (ranks(verdict.victims),) if verdict.culprits else ()
    if verdict.kind is HangKind.DEADLOCK:
        captures["cycle"] = " -> ".join(str(rank) for rank in (*verdict.cycle, verdict.cycle[0]))
        yield Sighting("recorder-cycle", lines, NOBODY, (), captures)
    elif verdict.kind is HangKind.COMMUNICATION:
        yield Sighting("all-ranks-joined", lines, NOBODY, (), captures)
    else:
        absent = sorted({wait.on for wait in verdict.waits} - {wait.rank for wait in verdict.waits})
        captures["ranks"] = spelled(verdict.culprits or absent)
        culprit = ranks(verdict.culprits) if verdict.culprits else NOBODY
        yield Sighting("recorder-missing-ranks", lines, culprit, victims, captures)


def _by_group(dumps: Mapping[int, Dump]) -> dict[str, _Steps]:
    groups: dict[str, _Steps] = defaultdict(dict)
    for rank, dump in dumps.items():
        for entry in dump.entries:
            if not entry.p2p:
                groups[entry.group].setdefault(rank, {}).setdefault(entry.seq, []).append(entry)
    return groups


def _first_difference(name: str, steps: _Steps) -> tuple[int, str, int] | None:
    """Return when, where and at which sequence number ranks first called something else."""
    since = max(min(of_rank) for of_rank in steps.values())
    for seq in sorted({seq for of_rank in steps.values() for seq in of_rank if seq >= since}):
        calls = {rank: of_rank[seq] for rank, of_rank in steps.items() if seq in of_rank}
        if len({_called(entries) for entries in calls.values()}) > 1:
            return min(entry.created for entries in calls.values() for entry in entries), name, seq
    return None


def _called(entries: Sequence[Entry]) -> tuple[tuple[str, ...], ...]:
    return tuple(entry.key for entry in entries)


def _different(seq: int, steps: _Steps, dumps: Mapping[int, Dump]) -> Sighting:
    calls = {rank: of_rank[seq] for rank, of_rank in steps.items() if seq in of_rank}
    found = majority({rank: _called(entries) for rank, entries in calls.items()})
    shown = found[1][0] if found else min(calls)
    captures = _of_entry(calls[shown][0], dumps)
    lines = tuple(_line(dumps[rank], calls[rank][0]) for rank in sorted(calls)[:_SHOWN])
    if found is None:
        return Sighting("recorder-differs", lines, NOBODY, (), captures)
    captures |= {"ranks": spelled(found[1]), "differs": " ".join(calls[shown][0].key)}
    victims = (ranks(set(calls) - set(found[1])),)
    first = tuple(_line(dumps[rank], calls[rank][0]) for rank in found[1][:4])
    return Sighting(
        "recorder-mismatch", tuple(dict.fromkeys((*first, *lines))), ranks(found[1]), victims, captures
    )


def _snapshot(groups: Mapping[str, _Steps], dumps: Mapping[int, Dump]) -> Snapshot:
    """Return how far each rank came. Only ranks with a dump take part: a file may just not be here."""
    numbers = {name: number for number, name in enumerate(sorted(groups))}
    members = {numbers[name]: _members(name, groups[name], dumps) for name in groups}
    states = {}
    for rank, dump in dumps.items():
        entered = {numbers[name]: max(steps[rank]) for name, steps in groups.items() if rank in steps}
        pending = tuple(
            Pending(
                numbers.get(entry.group, -1),
                entry.op,
                entry.seq - 1,
                0.0,
                peer=RECEIVES_FROM_ANYBODY if entry.p2p else None,
            )
            for entry in dump.entries
            if not entry.done
        )
        states[rank] = RankState(entered, pending=pending)
    return Snapshot(members, states)


def _members(name: str, steps: _Steps, dumps: Mapping[int, Dump]) -> tuple[int, ...]:
    told = next((dump.groups[name] for dump in dumps.values() if name in dump.groups), None)
    default = any(dump.names.get(name) == "default_pg" for dump in dumps.values())
    return tuple(sorted(set(dumps) & set(told or (dumps if default else steps))))


def _lines(dumps: Mapping[int, Dump], first: Sequence[int]) -> tuple[Line, ...]:
    """Return a line for each rank: the operation it is in, or the last it finished."""
    shown = list(dict.fromkeys(rank for rank in (*first, *sorted(dumps)) if rank in dumps))[:_SHOWN]
    return tuple(_line(dumps[rank], entry) for rank in shown if (entry := _latest(dumps[rank])))


def _latest(dump: Dump) -> Entry | None:
    return next(
        (entry for entry in dump.entries if not entry.done), dump.entries[-1] if dump.entries else None
    )


def _line(dump: Dump, entry: Entry) -> Line:
    state = "completed" if entry.done else "not completed"
    sizes = " ".join(entry.key[1:3])
    group = dump.names.get(entry.group, entry.group)
    text = f"rank {dump.rank}: {entry.op} #{entry.seq} of {group} {sizes}: {state}"
    return Line(
        dump.source, 1, f"{text} {entry.where}".rstrip(), Identity(rank=dump.rank), format="flight-recorder"
    )


def _of_entry(entry: Entry, dumps: Mapping[int, Dump]) -> dict[str, str]:
    name = next(
        (dump.names[entry.group] for dump in dumps.values() if entry.group in dump.names), entry.group
    )
    return _captures(entry.op, str(entry.seq), name, entry.where, entry.caller)


def _alone(dumps: Sequence[Dump]) -> Iterator[Sighting]:
    """Yield where one process stands; alone it cannot be compared."""
    for dump in dumps[:1]:
        entry = _latest(dump)
        if entry is not None and not entry.done:
            captures = _of_entry(entry, {0: dump})
            yield Sighting("recorder-stuck-at", (_line(dump, entry),), NOBODY, (), captures)


def _listing(case: Case) -> Iterator[Sighting]:
    """Yield the first operation of a plain listing that was not completed."""
    for line, state, operation, call in listed(case.lines):
        if state != "completed":
            captures = {"operation": operation, "where": call.text.split()[-1] if call else ""}
            lines = (line, call) if call else (line,)
            yield Sighting("recorder-stuck-at", lines, NOBODY, (), {k: v for k, v in captures.items() if v})
            return
