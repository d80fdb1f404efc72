"""Damaged logs: nothing raises, nobody else is accused, and what is outside the evidence hardly matters.

The cases are those beside this file. EVENPACE_CASES names further folders of cases, and EVENPACE_ROUNDS how
often each is damaged in each way (1).
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.diagnose.engine import diagnose
from evenpace.diagnose.formats import json_errors, launchers
from evenpace.diagnose.formats.clean import decode
from evenpace.diagnose.formats.flight_recorder import read_dump
from evenpace.diagnose.formats.iterations import series_of
from evenpace.diagnose.identity import canonical_gpu
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.model import Case, Identity, Line, Series, Source

FOLDERS = [
    Path(__file__).parent / "cases",
    *(Path(one) for one in os.environ.get("EVENPACE_CASES", "").split(":") if one),
]
ROUNDS = int(os.environ.get("EVENPACE_ROUNDS", "1"))
KEPT = 0.9  # share of damaged cases in which fault and culprit must stay, for damage outside the evidence
Files = dict[str, bytes]
Damage = Callable[[random.Random, list[bytes], set[int]], list[bytes]]


@dataclass(frozen=True, slots=True)
class Said:
    """What is said about a case: the fault, whom it accuses, and the lines that carry it."""

    fault: str
    named: frozenset[tuple[str, object]]
    lines: frozenset[tuple[str, int]]


def case_of(files: Files) -> Case:
    """Return the case of some files."""
    lines: list[Line] = []
    series: list[Series] = []
    dumps: list[object] = []
    for name, data in files.items():
        if dump := read_dump(name, data):
            dumps.append(dump)
            continue
        read = read_lines(name, decode(data))
        lines += read
        series += series_of(read)
    lines = json_errors.identify(launchers.identify(lines))
    sources = tuple(Source(name, len(data), data.count(b"\n")) for name, data in files.items())
    return Case(sources, tuple(lines), tuple(series), tuple(dumps))


def say(files: Files) -> Said:
    """Diagnose files."""
    found = diagnose(case_of(files))
    if not found:
        return Said("", frozenset(), frozenset())
    places = frozenset((line.source, line.number) for one in found for line in one.lines)
    return Said(found[0].fault, frozenset(_named(found[0].culprit)), places)


def _named(culprit: Identity) -> set[tuple[str, object]]:
    found: set[tuple[str, object]] = set()
    for place in ("rank", "host", "gpu"):
        value = getattr(culprit, place)
        each = value if isinstance(value, tuple) else () if value is None else (value,)
        found |= {(place, canonical_gpu(str(one)) if place == "gpu" else one) for one in each}
    return found


@cache
def cases() -> dict[str, tuple[Files, Said]]:
    """Return the logs of all cases with what is said about them undamaged."""
    found = {}
    for folder in (one for root in FOLDERS for one in sorted(root.glob("*/expected.json"))):
        files = {one.name: one.read_bytes() for one in sorted(folder.parent.iterdir()) if one != folder}
        found[folder.parent.name] = (files, say(files))
    return found


JUNK = (
    b"\x00" * 80,
    bytes(range(128, 256)) + b"\xff\xfe",
    b"\x1b[31m\x1b[1m\x1b]0;title\x07",
    b"x" * 70_000,
    b"{" * 300,
    b'[{"a": [',
    b"\r\r\r",
    "\u202e\ufeff 안녕 \U0001f600".encode(),
)


def insert_junk(chance: random.Random, lines: list[bytes], protected: set[int]) -> list[bytes]:
    """Put lines that are no log between the lines."""
    kept = list(lines)
    for _ in range(1 + len(lines) // 10):
        kept.insert(chance.randint(0, len(kept)), chance.choice(JUNK))
    return kept


def flip_bytes(chance: random.Random, lines: list[bytes], protected: set[int]) -> list[bytes]:
    """Change some bytes of a tenth of the lines outside the evidence."""
    return [
        line if at in protected or chance.random() > 0.1 else _flipped(chance, line)
        for at, line in enumerate(lines)
    ]


def _flipped(chance: random.Random, line: bytes) -> bytes:
    data = bytearray(line)
    for _ in range(1 + len(data) // 20):
        if data:
            data[chance.randrange(len(data))] = chance.choice(b"\x00\x07\x1b\x7f\x80\xff#%")
    return bytes(data).replace(b"\n", b"#")


def drop_lines(chance: random.Random, lines: list[bytes], protected: set[int]) -> list[bytes]:
    """Leave out a tenth of the lines outside the evidence."""
    return [line for at, line in enumerate(lines) if at in protected or chance.random() > 0.1]


def carriage_returns(chance: random.Random, lines: list[bytes], protected: set[int]) -> list[bytes]:
    """End lines as Windows does."""
    return [line + b"\r" for line in lines]


def colours(chance: random.Random, lines: list[bytes], protected: set[int]) -> list[bytes]:
    """Colour the lines."""
    return [b"\x1b[3%dm" % chance.randrange(8) + line + b"\x1b[0m" for line in lines]


def twice(chance: random.Random, lines: list[bytes], protected: set[int]) -> list[bytes]:
    """Repeat a block of lines where it ends."""
    start = chance.randint(0, len(lines))
    end = chance.randint(start, min(len(lines), start + 30))
    return lines[:end] + lines[start:end] + lines[end:]


def blank_lines(chance: random.Random, lines: list[bytes], protected: set[int]) -> list[bytes]:
    """Put blank lines in between."""
    return [each for line in lines for each in ((line, b"") if chance.random() < 0.3 else (line,))]


def long_tails(chance: random.Random, lines: list[bytes], protected: set[int]) -> list[bytes]:
    """Let some lines outside the evidence never end."""
    return [
        line if at in protected or chance.random() > 0.05 else line + b" y" * 20_000
        for at, line in enumerate(lines)
    ]


OUTSIDE: tuple[Damage, ...] = (
    *(insert_junk, flip_bytes, drop_lines, carriage_returns),
    *(colours, twice, blank_lines, long_tails),
)


def damaged(name: str, damage: Damage, seed: int) -> Files:
    """Return the files of a case after damage that leaves the lines of the evidence alone."""
    files, said = cases()[name]
    chance = random.Random(f"{name} {damage.__name__} {seed}")
    return {
        file: data
        if read_dump(file, data)
        else b"\n".join(
            damage(chance, data.split(b"\n"), {at - 1 for source, at in said.lines if source == file})
        )
        for file, data in files.items()
    }


@pytest.mark.parametrize("damage", OUTSIDE, ids=lambda one: one.__name__)
def test_damage_outside_the_evidence(damage: Damage) -> None:
    kept: Counter[bool] = Counter()
    others = []
    for name, (_, before) in cases().items():
        for seed in range(ROUNDS):
            after = say(damaged(name, damage, seed))
            kept[after.fault == before.fault and after.named == before.named] += 1
            if extra := after.named - before.named:
                others.append(
                    f"{name} {seed}: {before.fault} {sorted(before.named)} became {after.fault} {extra}"
                )
    share = kept[True] / kept.total()
    print(f"{damage.__name__}: {share:.1%} of {kept.total()} keep fault and culprit")
    assert not others, "\n".join(others)
    assert share >= KEPT


PREFIXES = (
    b"2025-03-04T05:06:07.890123Z ",
    b"Mar  4 05:06:07 ",
    b"node7: ",
    b"[1,3]<stderr>:",
    b"stderr F ",
    b"| ",
    b"2025-03-04T05:06:07.89Z stdout F ",
)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_gathers_lines_changes_no_fault(prefix: bytes) -> None:
    kept: Counter[bool] = Counter()
    for files, before in cases().values():
        after = say(
            {name: b"\n".join(prefix + line for line in data.split(b"\n")) for name, data in files.items()}
        )
        kept[after.fault == before.fault] += 1
        ranks = {value for place, value in after.named - before.named if place == "rank"}
        gathered = any(b"]<std" in data for data in files.values())  # already, by the same mpirun
        assert gathered or not ranks - {3} or not before.named, (before, after)
    print(f"{prefix!r}: {kept[True] / kept.total():.1%} keep the fault")
    assert kept[True] >= KEPT * kept.total()


def interleaved(chance: random.Random, data: bytes) -> bytes:
    """Shuffle lines of different ranks, each rank's own in their order, within windows of 20 lines."""
    lines = data.split(b"\n")
    kept: list[bytes] = []
    for start in range(0, len(lines), 20):
        window = lines[start : start + 20]
        owners = [_RANK.match(line) for line in window]
        if all(owners):
            queues: dict[bytes, list[bytes]] = {}
            for owner, line in zip(owners, window, strict=True):
                queues.setdefault(owner[1] if owner else b"", []).append(line)
            order = [owner[1] if owner else b"" for owner in owners]
            chance.shuffle(order)
            window = [queues[one].pop(0) for one in order]
        kept += window
    return b"\n".join(kept)


_RANK = re.compile(rb"\[rank(\d{1,5})\]:")


def test_ranks_that_are_shuffled_change_nobody() -> None:
    for name, (files, before) in cases().items():
        chance = random.Random(name)
        after = say({file: interleaved(chance, data) for file, data in files.items()})
        assert not after.named - before.named, (name, before, after)


def test_a_log_that_is_cut_raises_nothing() -> None:
    accused: Counter[bool] = Counter()
    for name, (files, before) in cases().items():
        chance = random.Random(name)
        for _ in range(2 * ROUNDS):
            after = say({file: data[: chance.randint(0, len(data))] for file, data in files.items()})
            accused[bool(after.named - before.named)] += 1
            if after.named - before.named:
                print(f"cut: {name}: {before.fault} {_listed(before)} became {after.fault} {_listed(after)}")
    assert accused[True] <= 0.05 * accused.total()  # what a later line explains is not known yet


def _listed(said: Said) -> str:
    return ", ".join(f"{place} {value}" for place, value in sorted(said.named, key=str)) or "nobody"


def test_two_logs_spliced_raise_nothing() -> None:
    names = list(cases())
    for name in names:
        chance = random.Random(name)
        one, other = (b"".join(cases()[each][0].values()) for each in (name, chance.choice(names)))
        at, to = chance.randint(0, len(one)), chance.randint(0, len(other))
        after = say({"a.log": one[:at] + other[to:]})
        alone = decode(one[:at]) + decode(other[to:])
        assert all(str(value) in alone or place != "host" for place, value in after.named), (name, after)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_bytes_in_any_place_raise_nothing(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(cases())))
    files = {}
    for file, content in cases()[name][0].items():
        at = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(at, min(len(content), at + 2000)))
        files[file] = content[:at] + data.draw(st.binary(max_size=300)) + content[end:]
    say(files)
