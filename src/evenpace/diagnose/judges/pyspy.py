"""Judge py-spy dumps of several ranks: who stands elsewhere than all the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import re2

from evenpace.diagnose.formats.pyspy import Process, Thread, processes_in
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import Case, Line, Sighting

_FEWEST = 3
_DEPTH = 40
_TOP = 6  # innermost frames that say what a thread waits for
_LOADER = re2.compile(r"^(?:_try_get_data|_get_data|_next_data|__next__)@dataloader\.py", options())
_WAITING = re2.compile(
    r"(?i)\b(?:barrier|all_?reduce\w*|all_?gather\w*|reduce_scatter\w*|broadcast\w*|all_to_all\w*|wait|recv|send|"
    r"isend|irecv|synchronize|_?wait_\w+|item|monitored_barrier|scatter|gather)\b",
    options(),
)


def judge(case: Case) -> Iterable[Sighting]:
    """Return the rank whose main thread stands elsewhere while all the others stand in the same place."""
    standing = [one for one in processes_in(case) if one.main and one.main.frames]
    dumped = [one for one in standing if not _is_helper(one)]
    if stuck := list(_loading(dumped, [one for one in standing if _is_worker(one)])):
        yield from stuck
        return
    if len(dumped) < _FEWEST:
        return
    places = Counter(_place(one.main) for one in dumped)
    (usual, count), *_ = places.most_common(1)
    odd = [one for one in dumped if _place(one.main) != usual]
    if count != len(dumped) - 1 or len(odd) != 1 or not _waits(usual):
        return
    suspect = odd[0]
    other = next(one for one in dumped if one is not suspect)
    evidence = (suspect.line, *_top(suspect), *_top(other)[:1])
    main = suspect.main
    frame = main.frames[0] if main else None
    captures = {"function": frame.function, "file": frame.file} if frame else {}
    others = tuple(one.who for one in dumped if one is not suspect)
    yield Sighting("pyspy-outlier", evidence, suspect.who, others, captures)


def _loading(dumped: Sequence[Process], workers: Sequence[Process]) -> Iterator[Sighting]:
    """Yield the only rank that waits for its DataLoader while the others wait in another place."""
    loading = [one for one in dumped if any(_LOADER.search(frame) for frame in _place(one.main)[:_TOP])]
    others = [one for one in dumped if one not in loading]
    if len(loading) == 1 and others and all(_waits(_place(one.main)) for one in others):
        suspect = loading[0]
        frames = suspect.main.frames[:_TOP] if suspect.main else []
        waits = [one.at for one in frames if one.function == "_try_get_data"] or _top(suspect)[:1]
        busy = [line for worker in workers[:2] for line in _top(worker)[:1]]
        evidence = (suspect.line, *waits, *busy, *_top(others[0])[:1])
        yield Sighting("dataloader-stuck", evidence, suspect.who, tuple(one.who for one in others))


def _is_helper(one: Process) -> bool:
    """Tell whether a process is a launcher or a DataLoader worker rather than a rank."""
    launchers = ("torchrun", "torch.distributed.run", "deepspeed.launcher", "mpirun")
    started = any(word in one.command for word in launchers)
    return started or _is_worker(one)


def _is_worker(one: Process) -> bool:
    return any("_worker_loop@" in frame for frame in _place(one.main))


def _place(thread: Thread | None) -> tuple[str, ...]:
    """Return where a thread stands: its functions, the innermost first, without lines."""
    frames = thread.frames[:_DEPTH] if thread else []
    return tuple(f"{frame.function}@{frame.file.rsplit('/', 1)[-1]}" for frame in frames)


def _waits(place: tuple[str, ...]) -> bool:
    """Tell whether a place is one where ranks wait for each other."""
    return any(_WAITING.search(frame.partition("@")[0]) for frame in place[:_TOP])


def _top(one: Process) -> list[Line]:
    return [frame.at for frame in one.main.frames[:2]] if one.main else []
