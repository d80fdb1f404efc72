"""Judge whether trouble came only after the work was done: then nothing has failed."""

from __future__ import annotations

from collections.abc import Iterable

import re2

from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Line, Sighting

_LONGEST = 16 * 1024

DONE = (
    r"(?i)\btraining (?:is |has |was )?(?:completed?|finished|ended|done)\b|"
    r"\btrainer\.fit` stopped: `max_(?:steps|epochs|time)|\bmax_(?:steps|epochs)(?:=\d+)?`? reached|"
    r"\bend time of running main\b|\breached max(?:imum)? (?:number of )?(?:steps|iterations|epochs)|"
    r"\[after training is done\]|\[exiting program (?:at|after) (?:iteration|\d)|'train_runtime':|"
    r"\b(?:finished|done) training\b|\ball (?:epochs|steps) (?:are )?(?:done|completed|finished)\b|"
    r"\bfinal (?:checkpoint|model)\b[^|]{0,80}\bsaved\b|\bsaved (?:the )?final (?:checkpoint|model)\b|"
    r"train(?:ing)?: +100%\|[^|]{0,200}\| (?P<step>\d+)/(?P<total>\d+) \[|job (?:has )?completed successfully"
)
_DONE = re2.compile(DONE, options())
_GOING_ON = re2.compile(
    r"(?i)\b(?:iteration|step|iter) *[:=]? *\d+[^|]{0,40}(?:loss|\|)|\bloss['\"]?[:=] *[\d.]", options()
)
_TEARDOWN = re2.compile(
    r"watchdog got stuck|[Hh]eartbeat ?[Mm]onitor|HeartbeatMonitor|"
    r"Watchdog caught|"
    r"destroy_process_group|recvValue failed|sendBytes failed|should dump|TCPStore server has shut down|"
    r"resource_tracker|Exception ignored in|atexit|NCCL communicator was aborted|Connection closed by|"
    r"Connection reset by peer|Broken pipe|remote process exited|Received \S+ death signal|closing signal|"
    r"terminate called|Fatal Python error|driver shutting down|[Ii]nterpreter shutdown|can't start new thread|"
    r"shutting down workers|Monitored barrier|leaked (?:semaphore|shared_memory)",
    options(),
)
_FAILED = re2.compile(
    r"Traceback \(most recent call last\)|out of memory|NCCL WARN|Xid|Watchdog caught|CUDA error|"
    r"Segmentation fault|No space left|DUE TO|oom[-_]kill|Killed",
    options(),
)


def judge(case: Case) -> Iterable[Sighting]:
    """Return that a run had ended before the first trouble, as the file that shows it says."""
    for source in case.sources:
        lines = [line for line in case.lines if line.source == source.name]
        done = _end(lines)
        if done is None:
            continue
        before = any(_FAILED.search(line.text[:_LONGEST]) for line in lines[:done])
        after = [line for line in lines[done + 1 :] if _TEARDOWN.search(line.text[:_LONGEST])]
        if (
            after
            and not before
            and not _starts_again(lines[done + 1 :])
            and not _elsewhere(case, source.name)
        ):
            yield Sighting("trouble-after-the-end", (after[0], lines[done], *after[1:2]), NOBODY, ())
            return


def _end(lines: list[Line]) -> int | None:
    """Return the place of the last line that says that training ended."""
    ends = [at for at, line in enumerate(lines) if _says_done(line.text[:_LONGEST])]
    return ends[-1] if ends else None


def _says_done(text: str) -> bool:
    if found := _DONE.search(text):
        return not found["step"] or found["step"] == found["total"]
    return False


def _starts_again(lines: list[Line]) -> bool:
    return any(_GOING_ON.search(line.text[:_LONGEST]) for line in lines)


def _elsewhere(case: Case, source: str) -> bool:
    """Tell whether another file holds trouble of its own, such as a kernel's."""
    return any(
        line.source != source
        and _FAILED.search(line.text[:_LONGEST])
        and not _TEARDOWN.search(line.text[:_LONGEST])
        for line in case.lines
    )
