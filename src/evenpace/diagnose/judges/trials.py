"""Judge a search by halves: what is in every test that failed or was slow, and in none that did well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evenpace.diagnose.formats.trials import Trial, trials_in
from evenpace.diagnose.model import Case, Identity, Line, Sighting

_SHOWN = 4  # trials of either kind
_GAP = 3.0  # times the spread within the slow and within the fast
_SLOWER = 0.98
_FEWEST = 2  # trials


def judge(case: Case) -> Iterable[Sighting]:
    """Return the one GPU or node that is in every bad trial and in no good one."""
    every = trials_in(case)
    for kind in ("host", "gpu"):
        of_kind = [one for one in every if one.kind == kind and one.ok is not None]
        bad = [one for one in of_kind if not one.ok]
        good = [one for one in of_kind if one.ok]
        slow = not bad
        if slow:
            bad, good = _apart(good)
        few = kind == "host" and len(bad) < _FEWEST and len(good) < _FEWEST  # a job that was run twice
        culprit = None if few else _culprit(bad, good)
        if culprit is not None:
            yield _sighting(kind, culprit, bad, good, slow)


def _culprit(bad: Sequence[Trial], good: Sequence[Trial]) -> str | None:
    """Return the only part that all bad trials have in common and no good one has."""
    if not bad or not good:
        return None
    left = frozenset.intersection(*(one.parts for one in bad)).difference(*(one.parts for one in good))
    together = any(len(one.parts) > 1 for one in (*bad, *good))
    return next(iter(left)) if len(left) == 1 and together else None


def _apart(measured: Sequence[Trial]) -> tuple[list[Trial], list[Trial]]:
    """Return the slow and the fast trials, where a gap between them is far wider than either spreads."""
    order = sorted((one for one in measured if one.value is not None), key=lambda one: one.value or 0.0)
    values = [one.value or 0.0 for one in order]
    if len(values) < 2 * _FEWEST:
        return [], []
    at = max(range(1, len(values)), key=lambda at: values[at] - values[at - 1])
    gap = values[at] - values[at - 1]
    spread = max(values[at - 1] - values[0], values[-1] - values[at])
    clear = gap > _GAP * spread and values[at - 1] < _SLOWER * values[at]
    return (order[:at], order[at:]) if clear and at >= _FEWEST else ([], [])


def _sighting(kind: str, culprit: str, bad: Sequence[Trial], good: Sequence[Trial], slow: bool) -> Sighting:
    who = Identity(gpu=culprit) if kind == "gpu" else Identity(host=culprit)
    name = {"gpu": "trial-gpu", "host": "trial-node"}[kind] + ("-slow" if slow else "-fails")
    lines = [line for one in bad[:_SHOWN] for line in _lines(one)]
    lines += [line for one in good[:_SHOWN] for line in _lines(one)]
    captures = {"part": culprit, "bad": str(len(bad)), "good": str(len(good))}
    certainty = None if len(bad) > 1 else 0.6
    return Sighting(name, tuple(dict.fromkeys(lines)), who, (), captures, certainty)


def _lines(one: Trial) -> list[Line]:
    result = one.failed or one.passed
    return [one.lines[0], *([result] if result is not None else [])]
