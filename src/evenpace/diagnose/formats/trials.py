"""One test run over different GPUs or nodes: which set each run took, and how it came out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import re2

from evenpace.diagnose.matching import options
from evenpace.diagnose.model import Case, Line

_LONGEST = 8192
_MOST = 512  # trials of one file
_SPAN = 300  # lines after which the output of a trial is over
_GPUS = re.compile(
    r"(?:CUDA_VISIBLE_DEVICES=|NVIDIA_VISIBLE_DEVICES=|HIP_VISIBLE_DEVICES=)[\"']?(\d{1,3}(?:,\d{1,3}){0,63})\b|"
    r"(?:\s-g|\s-i|--gpus|--gpu-ids|--devices|\bgpus|\bdevices)[ =][\"']?(\d{1,3}(?:,\d{1,3}){1,63})\b"
)
_HOST = r"[A-Za-z][\w.-]{0,80}?\d[\w.-]{0,80}"
_NODES = re.compile(
    rf"(?:\s-H|\s-w|--hosts?|--nodelist|--nodes|\bnodes|\bhosts|\bnodelist)[ =:]{{1,2}}[\"'\[]?"
    rf"({_HOST}(?::\d{{1,3}})?(?:, ?{_HOST}(?::\d{{1,3}})?){{0,255}})"
)
_SETS = re2.compile(
    r"_VISIBLE_DEVICES=|(?:\s-[giHw]|--gpus|--gpu-ids|--devices|--hosts?|--nodelist|--nodes|\bgpus|\bdevices|"
    r"\bnodes|\bhosts|\bnodelist)[ =:]+[\"'\[]?[\w.-]",
    options(),
)
_FAILED = re.compile(
    r"(?i)\bfail(?:ed|ure|s)?\b|\berror\b|\btimed out\b|\bhung\b|\bunavailable\b|\babort(?:ed)?\b|"
    r"\bNCCL WARN\b|\bcrash(?:ed)?\b|\bkilled\b|\bnot ok\b"
)
_PASSED = re.compile(
    r"Out of bounds values : 0 OK|\b(?:PASS|PASSED|passed)\b|\b(?:OK|ok)\b|Avg bus bandwidth|"
    r"\b(?:succeeded|success|completed)\b"
)
_MEASURED = re.compile(
    r"(?i)(?:avg bus bandwidth\s{0,8}:|bus_?bw[ =:]{1,3}|bandwidth[ =:]{1,3}|algbw[ =:]{1,3})\s{0,4}"
    r"(\d{1,7}(?:\.\d{1,6})?)"
)
_OPTION = re.compile(r"\s--?\w[\w-]{0,40}")
_NO_ERRORS = re.compile(r"(?i)\b(?:0|no) (?:errors?|failures?)\b|errors?[=: ]{1,2}0\b")


@dataclass(slots=True)
class Trial:
    """One run: over which parts (`gpu` or `host`), its lines, and what came out of it."""

    kind: str
    parts: frozenset[str]
    lines: list[Line] = field(default_factory=list)
    end: int = 0  # of the set, in the first line
    failed: Line | None = None
    passed: Line | None = None
    value: float | None = None

    @property
    def ok(self) -> bool | None:
        """Tell whether it passed, where its output says so."""
        if self.failed is not None:
            return False
        return True if self.passed is not None or self.value is not None else None


def trials_in(case: Case) -> list[Trial]:
    """Return the runs over named sets of GPUs or nodes that a case tells of."""
    starts = {id(line) for line in case.lines_with(_SETS)}
    if len(starts) < 2:
        return []
    return [one for lines in case.by_source.values() for one in _trials(lines, starts)]


def _trials(lines: Iterable[Line], starts: set[int]) -> Iterator[Trial]:
    now: Trial | None = None
    count = 0
    for line in lines:
        begun = _begun(line) if id(line) in starts else None
        if begun is not None and count < _MOST:
            if now is not None:
                yield now
            now, count = begun, count + 1
        if now is not None and line.number - now.lines[0].number <= _SPAN:
            _see(now, line)
    if now is not None:
        yield now


def _begun(line: Line) -> Trial | None:
    text = line.text[:_LONGEST]
    if found := _NODES.search(text):
        names = re.split(r", ?", found[1])
        return Trial("host", frozenset(name.partition(":")[0] for name in names), [line], found.end())
    if found := _GPUS.search(text):
        return Trial("gpu", frozenset((found[1] or found[2]).split(",")), [line], found.end())
    return None


def _see(trial: Trial, line: Line) -> None:
    text = line.text[:_LONGEST]
    if line is trial.lines[0]:
        text = _OPTION.sub("", text[trial.end :])
    if measured := _MEASURED.search(text):
        trial.value, trial.passed = float(measured[1]), line
    elif "algbw" in text:  # the head of a table
        return
    elif _FAILED.search(text) and not _NO_ERRORS.search(text):
        trial.failed = trial.failed or line
    elif _PASSED.search(text):
        trial.passed = trial.passed or line
