"""No text makes diagnosis slower than linear: neither a pattern nor a judge nor the whole."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from tests.diagnose.hostile import TEXTS, case_of, said

import evenpace.diagnose
from evenpace.diagnose.engine import all_judges, standing_out
from evenpace.diagnose.lines import read_lines
from evenpace.diagnose.matching import PatternSet
from evenpace.diagnose.signature import signatures

SIZE = 4096  # characters of a pathological string
AT_ONCE = 0.02  # seconds for SIZE characters that need no second look: a pattern that backtracks takes more
DOUBLED = 3.0  # how much longer a pattern may take for twice the characters; quadratic is 4
LINES = 1000
GROWTH = 2.3**2  # how much longer four times the lines may take; quadratic is 16
SOON = 0.5  # seconds for 4 * LINES lines that need no comparison
CALLS = {"match", "fullmatch", "search", "finditer", "sub", "findall", "split"}


def seconds(work: Callable[[], object], tries: int = 3) -> float:
    """Return the least processor time of some tries."""
    best = float("inf")
    for _ in range(tries):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


@cache
def calls() -> dict[tuple[str, str], set[str]]:
    """Return how each named pattern is used: (module, name) → methods."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in Path(evenpace.diagnose.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in CALLS and isinstance(node.value, ast.Name):
                found.setdefault((path.stem, node.value.id), set()).add(node.attr)
    return found


def patterns() -> dict[re.Pattern[str], str]:
    """Return all compiled patterns of diagnosis with their places, also those within tuples and dicts."""
    found: dict[re.Pattern[str], str] = {}
    for info in pkgutil.walk_packages(evenpace.diagnose.__path__, f"{evenpace.diagnose.__name__}."):
        for name, value in list(vars(importlib.import_module(info.name)).items()):
            for one in _within(value) if not name.startswith("__") else ():
                if isinstance(one.pattern, str):
                    found.setdefault(one, f"{info.name.removeprefix('evenpace.diagnose.')}:{name}")
    return found


def _within(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, dict):
        yield from _within((*value, *value.values()), depth + 1)
    elif depth < 4 and isinstance(value, tuple | list | set | frozenset):
        for one in value:
            yield from _within(one, depth + 1)


PATTERNS = patterns()


def only_from_the_start(place: str) -> bool:
    """Tell whether a pattern is only matched at a given place, which does not try it at each one."""
    module, _, name = place.rpartition(":")
    used = calls().get((module.rpartition(".")[2], name), set())
    return bool(used) and used <= {"match", "fullmatch"}


def sample(parsed: Any, repeat: int) -> str:
    """Return a text that a pattern matches, or nearly, with its repetitions `repeat` times where they may."""
    return "".join(_piece(kind, value, repeat) for kind, value in parsed)


def _piece(kind: Any, value: Any, repeat: int) -> str:
    if kind is sre.LITERAL:
        return chr(value)
    if kind in (sre.ANY, sre.NOT_LITERAL):
        return "x"
    if kind is sre.IN:
        return _letter(value)
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        low, high, inner = value
        return sample(inner, repeat) * max(low, min(high, repeat))
    if kind is sre.SUBPATTERN:
        return sample(value[3], repeat)
    return sample(value[1][0], repeat) if kind is sre.BRANCH else ""


def _letter(options: Any) -> str:
    return next((one for one in "0aA _-.:[]=/,\"'\t(){}|<" if _has(options, one)), "x")


def _has(options: Any, letter: str) -> bool:
    negated = options[0][0] is sre.NEGATE
    found = any(_is(kind, value, letter) for kind, value in options)
    return found is not negated


def _is(kind: Any, value: Any, letter: str) -> bool:
    if kind is sre.LITERAL:
        return ord(letter) == value
    if kind is sre.RANGE:
        return bool(value[0] <= ord(letter) <= value[1])
    classes = {sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_SPACE: r"\s", sre.CATEGORY_WORD: r"\w"}
    classes |= {sre.CATEGORY_NOT_SPACE: r"\S", sre.CATEGORY_NOT_WORD: r"\W", sre.CATEGORY_NOT_DIGIT: r"\D"}
    return kind is sre.CATEGORY and re.match(classes[value], letter) is not None


def units(parsed: Any) -> Iterator[str]:
    """Yield what a pattern repeats, and its branches."""
    for kind, value in parsed:
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            yield sample(value[2], 1)
            yield from units(value[2])
        elif kind is sre.SUBPATTERN:
            yield from units(value[3])
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield sample(branch, 1)
                yield from units(branch)


def pathological(pattern: re.Pattern[str]) -> set[str]:
    """Return units to repeat: what the pattern repeats, its own matches cut short, and the usual suspects."""
    parsed = parser.parse(pattern.pattern, pattern.flags)
    found = {
        *units(parsed),
        " ",
        "0",
        "a",
        "A",
        '"',
        "[",
        "{",
        "(",
        ":",
        ".",
        "-",
        "/",
        "_",
        "a ",
        "0 ",
        "0.",
        "a:",
    }
    for repeat in (0, 1, 40):
        whole = sample(parsed, repeat)[:400]
        found |= {whole, whole[:-1], whole + " "}
    return {one for one in found if one}


@pytest.mark.parametrize("pattern", PATTERNS, ids=list(PATTERNS.values()))
def test_no_pattern_backtracks(pattern: re.Pattern[str]) -> None:
    matched = only_from_the_start(PATTERNS[pattern])

    def look(text: str) -> None:
        if matched:
            pattern.match(text)
            pattern.fullmatch(text)
        else:
            for _ in pattern.finditer(text):
                pass

    for unit in sorted(pathological(pattern)):
        for text in (
            unit * (SIZE // len(unit) + 1),
            sample(parser.parse(pattern.pattern), 1)[:99] + unit * SIZE,
        ):
            if seconds(lambda text=text: look(text[:SIZE]), 1) > AT_ONCE:  # type: ignore[misc]
                _grows(look, unit)


def _grows(look: Callable[[str], None], unit: str) -> None:
    """Fail where twice the characters take clearly more than twice as long."""
    text = unit * (4 * SIZE // len(unit) + 1)
    once = seconds(lambda: look(text[: 2 * SIZE]))
    twice = seconds(lambda: look(text[: 4 * SIZE]))
    assert twice < DOUBLED * once + AT_ONCE, f"{unit!r} again and again: {once:.3f} s, then {twice:.3f} s"


def test_signatures_search_in_linear_time() -> None:
    each = [
        pattern.pattern
        for one in signatures().values()
        for pattern in (*one.content.match, *one.content.also)
    ]
    search = PatternSet(each)
    for unit in (
        "NCCL WARN ",
        "[rank0]: ",
        "0",
        " ",
        "CUDA error: ",
        "NVRM: Xid (PCI:0000:",
        "a.b-c:1:",
        "((((",
        '"a": ',
    ):
        text = unit * (4 * SIZE // len(unit))
        list(search.search(text))
        once = seconds(lambda text=text: list(search.search(text[:SIZE])))  # type: ignore[misc]
        whole = seconds(lambda text=text: list(search.search(text)))  # type: ignore[misc]
        assert whole < GROWTH * once + SOON, unit


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_takes_longer_than_its_length(name: str) -> None:
    small, large = (case_of([("a.log", TEXTS[name](size))]) for size in (LINES, 4 * LINES))
    said(small)  # compiles
    works: dict[str, Callable[[Any], object]] = {"diagnose": said, "stand out": standing_out}
    works |= {one.__module__: lambda case, judge=one: list(judge(case)) for one in all_judges()}  # type: ignore[misc]
    for what, work in works.items():
        _compare(what, lambda work=work: work(small), lambda work=work: work(large))  # type: ignore[misc]
    texts = [TEXTS[name](size) for size in (LINES, 4 * LINES)]
    _compare("read_lines", lambda: read_lines("a", texts[0]), lambda: read_lines("a", texts[1]))


def _compare(what: str, small: Callable[[], object], large: Callable[[], object]) -> None:
    longer = seconds(large, 1)
    if longer > SOON:
        shorter = seconds(small, 2)
        assert min(longer, seconds(large, 1)) < GROWTH * shorter + SOON, (
            f"{what}: {shorter:.2f} s, then {longer:.2f} s"
        )


@pytest.mark.parametrize("name", TEXTS)
def test_an_answer_has_an_end(name: str) -> None:
    found = said(case_of([("a.log", TEXTS[name](LINES))]))
    assert len(found) <= 64
    assert all(len(one.evidence) <= 64 for one in found)


def test_ten_thousand_files() -> None:
    def files(many: int) -> list[tuple[str, str]]:
        return [
            (f"logs/rank{at}.log", f"[rank{at}]: step 3 loss 2.0\n[rank{at}]: ValueError: {at}")
            for at in range(many)
        ]

    said(case_of(files(10)))
    _compare("files", lambda: said(case_of(files(2500))), lambda: said(case_of(files(10_000))))
