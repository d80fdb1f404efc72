"""No check breaks on facts that are missing, of another type, absurd, deep or large, wherever they stand.

The facts are those of its own fixtures, spoilt at a few places: as much as a check reads is reached.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from evenpace.checks.catalogue import Check, checks
from evenpace.checks.running import run
from evenpace.collect import saved
from evenpace.collect.snapshot import Snapshot
from evenpace.findings import Outcome
from evenpace.report.audit import audit_of, render
from evenpace.terms import LANGUAGES

CHECKS = list(checks().values())
LIMIT = 10.0  # seconds of one run; a third of what an audit gives it
EXAMPLES = 16  # of a check
LARGE = 1_000_000  # characters
NUMBER = st.integers(0, 1 << 20)
Place = tuple[str | int, ...]
T = TypeVar("T")


def nested(depth: int) -> Any:
    """Return tables and lists in each other."""
    value: Any = "end"
    for number in range(depth):
        value = {"a": value, "name": value} if number % 2 else [value]
    return value


# Values of the right type, the first of each row that a field may really have; then any for any.
NUMBERS = (0, -1, 10**12, 10**400, -(10**400), 1e308, float("nan"), float("inf"), -1.5, True)
TIMES = ("9999-12-31T23:59:59.999999-23:59", "0001-01-01T00:00:00+23:59", "2026-13-45T99:99:99Z", "12:00")
TEXTS = (
    *(
        "",
        " ",
        "\x00",
        "\x1b[31m",
        "한국어 नोड é 😀",
        "²",
        "٣",
        "-1",
        "1" * 5000,
        "1e999Ei",
        "8.5.5",
        "%s {0} {a}",
    ),
    *("/", "//", ":", "a=b=c", "[1-999999999999]", "n[1-9999999]", "x" * LARGE, "1" * LARGE, "[" * LARGE),
    *("a," * (LARGE // 2), "(" * LARGE, "a/" * (LARGE // 2), "1:" * (LARGE // 2), "\n" * LARGE, "가" * LARGE),
)
SHAPES = (None, [], {}, [None], [[]], {"a": None}, {"": {}}, nested(200), [{}] * 1000, dict.fromkeys("abc"))
MIXED = (*NUMBERS, *TIMES, *TEXTS, *SHAPES)


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the place of each value within nested tables and lists."""
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if listed(value) else ()
    for key, inner in pairs:
        yield (*place, key)
        yield from places(inner, (*place, key))


def at(value: Any, place: Place) -> Any:
    """Return what stands at a place."""
    for step in place:
        value = value[step]
    return value


def replaced(value: Any, place: Place, odd: object) -> Any:
    """Return a copy of `value` with `odd` at a place."""
    if not place:
        return odd
    if isinstance(value, Mapping):
        return {key: replaced(one, place[1:], odd) if key == place[0] else one for key, one in value.items()}
    return [replaced(one, place[1:], odd) if number == place[0] else one for number, one in enumerate(value)]


def listed(value: Any) -> bool:
    return isinstance(value, list | tuple)


def odds(value: Any) -> tuple[Any, ...]:
    """Return what to put in the place of a value: half of it is something that its field may hold."""
    if isinstance(value, str):
        fitting: tuple[Any, ...] = (*TIMES, *TEXTS)
    elif isinstance(value, int | float):
        fitting = NUMBERS * 3
    else:
        fitting = ([*value] * 300,) * 3 if listed(value) and len(value) < 50 else ()
    return (*fitting, *MIXED)


@functools.cache
def facts(check: Check) -> list[tuple[Snapshot, dict[str, Any], list[Place]]]:
    """Return the snapshots of the pass and fail fixtures, their kinds as plain values, and all places."""
    found = []
    for path in sorted((check.folder / "fixtures").iterdir()):
        if path.name.startswith(("pass", "fail")):
            snapshot = saved.read(path)
            plain = msgspec.to_builtins(dict(snapshot.kinds), enc_hook=str)
            found.append((snapshot, plain, list(places(plain))))
    return found


def spoilt(check: Check, fixture: int, changes: list[tuple[int, int]]) -> Snapshot:
    """Return a fixture's snapshot, spoilt at some places; of all there are to choose from, by numbers."""
    snapshot, kinds, every = of(facts(check), fixture)
    for place, odd in ((of(every, place), odd) for place, odd in changes):
        try:
            kinds = replaced(kinds, place, of(odds(at(kinds, place)), odd))
        except (LookupError, TypeError):
            continue  # the place is no longer there
    return read(snapshot, kinds)


def of(choices: Sequence[T], number: int) -> T:
    """Return one of several, the same by the same number."""
    return choices[number % len(choices)]


def read(snapshot: Snapshot, kinds: Mapping[str, Any]) -> Snapshot:
    """Return a snapshot of these facts; Slurm's have types, which reading makes sure of."""
    head = (snapshot.family, "", snapshot.taken)
    if snapshot.family == "kubernetes":
        return Snapshot(*head, kinds, snapshot.unread, snapshot.version)
    typed = {}
    for kind, value in kinds.items():
        try:
            typed[kind] = saved._typed(snapshot.family, kind, value)
        except (msgspec.ValidationError, ValueError, OverflowError):
            continue
    return Snapshot(*head, typed, snapshot.unread, snapshot.version)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_whatever_it_is_told_a_check_answers_in_time_and_its_answer_can_be_shown(check: Check) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(NUMBER, st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=3))
    def answers(fixture: int, changes: list[tuple[int, int]]) -> None:
        snapshot = spoilt(check, fixture, changes)
        result = run(check, snapshot, LIMIT)
        assert (result.outcome is Outcome.ERROR, result.error) == (False, "")
        for lang, form in zip(LANGUAGES, ("text", "json"), strict=True):
            assert "".join(render(audit_of([snapshot], [result], lang), form))

    answers()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_each_place_alone_may_hold_nothing(check: Check) -> None:
    """Null, at every place of the first fixture that fails: none is left to chance."""
    snapshot, kinds, every = next(one for one in facts(check) if run(check, one[0]).gaps)
    for place in every:
        result = run(check, read(snapshot, replaced(kinds, place, None)), LIMIT)
        assert (result.outcome is Outcome.ERROR, result.error) == (False, ""), place
