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
    r"Watchdog caught|destroy_process_group|recvValue failed|sendBytes failed|should dump|"
    r"TCPStore server has shut down|"
    r"resource_tracker|Exception ignored in|atexit|NCCL communicator was aborted|Connection closed by|"
    r"Connection reset by peer|Broken pipe|remote process exited|Received \S+ death signal|"
    r"closing signal|"
    r"terminate called|Fatal Python error|driver shutting down|[Ii]nterpreter shutdown|"
    r"can't start new thread|"
    r"shutting down workers|Monitored barrier|leaked (?:semaphore|shared_memory)",
    options(),
)
_HARD = re2.compile(
    r"Watchdog caught collective|Watchdog caught|Timed out waiting|Monitored barrier|monitoredBarrier",
    options(),
)
_SAVED = re2.compile(
    r"(?i)\bsaved\b.{0,60}(?:checkpoint|model|weights)|(?:checkpoint|model|weights)\b.{0,160}\bsaved\b",
    options(),
)
_FINAL = re2.compile(
    r"(?i)end time of running main|exiting program|completed successfully|max_\w+ reached", options()
)
_SOON = 40  # lines after the end of training within which the last save may be told
_FAILED = re2.compile(
    r"Traceback \(most recent call last\)|out of memory|NCCL WARN|Xid|Watchdog caught|CUDA error|"
    r"Segmentation fault|No space left|DUE TO|oom[-_]kill|Killed",
    options(),
)


def judge(case: Case) -> Iterable[Sighting]:
    """Return that a run had ended before the first trouble, as the file that shows it says."""
    done = {line.source for line in case.lines_with(_DONE)}
    if not done:
        return
    troubled = {
        line.source for line in case.lines_with(_FAILED) if not _TEARDOWN.search(line.text[:_LONGEST])
    }
    for source, lines in case.by_source.items():
        if source in done and not troubled - {source} and (evidence := _after_the_end(lines)):
            yield Sighting("trouble-after-the-end", evidence, NOBODY, ())
            return


def _after_the_end(lines: list[Line]) -> tuple[Line, ...]:
    """Return the first trouble and the end before it, if all trouble came after the work was done."""
    done = _end(lines)
    if done is None:
        return ()
    before = any(_FAILED.search(line.text[:_LONGEST]) for line in lines[:done])
    after = [line for line in lines[done + 1 :] if _TEARDOWN.search(line.text[:_LONGEST])]
    first = [line for line in lines[max(0, done - _SOON) : done] if _says_done(line.text[:_LONGEST])]
    saved = [line for line in lines[: done + 1 + _SOON] if _SAVED.search(line.text[:_LONGEST])]
    if before or not after or _starts_again(lines[done + 1 :]) or not _is_over(lines[done], saved, after):
        return ()
    return (after[0], *first[:1], lines[done], *saved[-1:], *after[1:2])


def _end(lines: list[Line]) -> int | None:
    """Return the place of the last line that says that training ended."""
    ends = [at for at, line in enumerate(lines) if _says_done(line.text[:_LONGEST])]
    return ends[-1] if ends else None


def _is_over(done: Line, saved: list[Line], after: list[Line]) -> bool:
    """Tell whether nothing was left to do: a rank that waits in a collective may wait for the last save."""
    hard = [line for line in after if _HARD.search(line.text[:_LONGEST])]
    if not hard or _final(done):
        return True
    return bool(saved) and done.number <= saved[-1].number < hard[0].number


def _final(line: Line) -> bool:
    """Tell whether a line says that the whole program is over, not only its loop."""
    return _FINAL.search(line.text[:_LONGEST]) is not None


def _says_done(text: str) -> bool:
    if found := _DONE.search(text):
        return not found["step"] or found["step"] == found["total"]
    return False


def _starts_again(lines: list[Line]) -> bool:
    return any(_GOING_ON.search(line.text[:_LONGEST]) for line in lines)
