"""Judge ranks that share one GPU: some of them, or all of a host because nothing pins them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import re2

from evenpace.diagnose.matching import options
from evenpace.diagnose.model import Case, Identity, Line, Sighting

_PAIR = re.compile(
    r"Duplicate GPU detected : rank (\d{1,6}) and rank (\d{1,6}) both on CUDA device ([0-9a-fA-F:.]{1,20})"
)
_DUPLICATE = re2.compile("Duplicate GPU detected", options())
MANY = 3


def judge(case: Case) -> Iterable[Sighting]:
    """Name the GPU and the ranks on it, or the host where all of its ranks are on one GPU."""
    by_gpu: dict[str, tuple[list[Line], dict[int, None]]] = {}
    for line in case.lines_with(_DUPLICATE):
        for first, second, gpu in _PAIR.findall(line.text):
            lines, ranks = by_gpu.setdefault(gpu, ([], {}))
            lines.append(line)
            ranks.update({int(first): None, int(second): None})
    if not by_gpu:
        return
    roster = case.roster
    for gpu, (lines, ranks) in by_gpu.items():
        host = next((line.printer.host for line in lines if line.printer.host), None)
        everyone = len(ranks) >= MANY and roster.ranks <= set(ranks) and (roster.world or 0) <= len(ranks)
        who = None if everyone else tuple(sorted(ranks))
        yield Sighting("duplicate-gpu", tuple(lines), Identity(rank=who, host=host, gpu=gpu))
