"""Judge py-spy dumps of several ranks: who stands elsewhere than all the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import re2

from evenpace.diagnose.formats.pyspy import Process, Thread, processes
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Line, Sighting

_FEWEST = 3
_DEPTH = 40
_WAITING = re2.compile(
    r"(?i)\b(?:barrier|all_?reduce\w*|all_?gather\w*|reduce_scatter\w*|broadcast\w*|all_to_all\w*|wait|recv|send|"
    r"isend|irecv|synchronize|_?wait_\w+|item|monitored_barrier|scatter|gather)\b",
    options(),
)


def judge(case: Case) -> Iterable[Sighting]:
    """Return the rank whose main thread stands elsewhere while all the others stand in the same place."""
    dumped = [one for one in processes(case.lines) if one.main and one.main.frames and not _is_launcher(one)]
    if len(dumped) < _FEWEST:
        return
    places = Counter(_place(one.main) for one in dumped)
    (usual, count), *_ = places.most_common(1)
    odd = [one for one in dumped if _place(one.main) != usual]
    if count != len(dumped) - 1 or len(odd) != 1 or not _waits(dumped, usual):
        return
    suspect = odd[0]
    other = next(one for one in dumped if one is not suspect)
    evidence = (suspect.line, *_top(suspect), *_top(other)[:1])
    main = suspect.main
    frame = main.frames[0] if main else None
    captures = {"function": frame.function, "file": frame.file} if frame else {}
    who = (
        suspect.who if suspect.who.rank is not None or suspect.who.host is not None else suspect.who or NOBODY
    )
    yield Sighting(
        "pyspy-outlier", evidence, who, tuple(one.who for one in dumped if one is not suspect), captures
    )


def _is_launcher(one: Process) -> bool:
    return any(
        word in one.command for word in ("torchrun", "torch.distributed.run", "deepspeed.launcher", "mpirun")
    )


def _place(thread: Thread | None) -> tuple[str, ...]:
    """Return where a thread stands: its functions from the outermost in, without lines."""
    frames = thread.frames[-_DEPTH:] if thread else []
    return tuple(f"{frame.function}@{frame.file.rsplit('/', 1)[-1]}" for frame in frames)


def _waits(dumped: Sequence[Process], usual: tuple[str, ...]) -> bool:
    """Tell whether the usual place is one where ranks wait for each other."""
    return any(_WAITING.search(place.split("@")[0]) for place in usual[:4]) and len(dumped) >= _FEWEST


def _top(one: Process) -> list[Line]:
    return [frame.at for frame in one.main.frames[:2]] if one.main else []
