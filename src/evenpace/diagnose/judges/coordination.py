"""Judge the coordination service of JAX and TensorFlow: which task never registered."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

import re2

from evenpace.diagnose.formats.c10d import spelled
from evenpace.diagnose.judges.collectives import evidence, ranks
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Line, Sighting

_LONGEST = 16 * 1024
_BLOCK = 64  # lines after the head of a list of tasks
_LATE = re2.compile(r"[Tt]imed out task names:", options())
_REGISTERING = re2.compile(
    r"Wait_for_all_tasks_to_register|PjRT_Client_Connect|cluster registration failed", options()
)
_REACHED = re.compile(r"tasks that reached the barrier: (\d{1,6})/(\d{1,6})")
_REACHED_LINES = re2.compile(r"tasks that reached the barrier: \d", options())
_TASK = re.compile(r"/job:[\w-]{1,80}/replica:\d{1,6}/task:(\d{1,6})")


def judge(case: Case) -> Iterable[Sighting]:
    """Return the tasks that were missing when the cluster gave up registering."""
    registering = case.lines_with(_REGISTERING)
    late = case.lines_with(_LATE) if registering else []
    if not late:
        return
    missing = sorted({task for line in late for task in _tasks(case, line)})
    counts = case.lines_with(_REACHED_LINES)
    size = max(
        (int(found[2]) for line in counts if (found := _REACHED.search(line.text[:_LONGEST]))), default=0
    )
    if not missing:
        return
    captures = {"ranks": spelled(missing)}
    lines = evidence(late[0], [*counts[:1], *registering[:2]])
    who = ranks(missing) if 2 * len(missing) < (size or max(missing) + 1) else NOBODY
    yield Sighting("coordination-task-missing", lines, who, (), captures)


def _tasks(case: Case, head: Line) -> Sequence[int]:
    """Return the tasks that are named behind a head and on the lines after it that name nothing else."""
    found = _TASK.findall(head.text[:_LONGEST].rpartition("imed out task names:")[2])
    lines = case.by_source[head.source]
    begin = bisect_right(lines, head.number, key=lambda line: line.number)
    for line in lines[begin : begin + _BLOCK]:
        named = _TASK.findall(line.text[:_LONGEST])
        if not named or _TASK.sub("", line.text[:_LONGEST]).strip(" ,;"):
            break
        found += named
    return [int(one) for one in found]
