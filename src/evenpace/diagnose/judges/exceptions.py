"""Judge Python exceptions: whose is the first cause, and whose only follows from something else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import re2

from evenpace.diagnose.formats.json_errors import reports
from evenpace.diagnose.formats.launchers import Order, identify, orders_in
from evenpace.diagnose.formats.tracebacks import Traceback, tracebacks, user_frame
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Identity, Line, Sighting

_LONGEST = 16 * 1024

_SEQUEL_KINDS = frozenset(
    {
        *(
            "ChildFailedError",
            "SignalException",
            "KeyboardInterrupt",
            "SystemExit",
            "BrokenPipeError",
            "GeneratorExit",
        ),
        *(
            "ConnectionResetError",
            "ConnectionRefusedError",
            "ConnectionAbortedError",
            "ConnectionError",
            "EOFError",
        ),
        *(
            "DistBackendError",
            "DistNetworkError",
            "DistStoreError",
            "DistError",
            "NCCLError",
            "CalledProcessError",
        ),
        *(
            "ProcessExitedException",
            "ProcessRaisedException",
            "ActorDiedError",
            "RayActorError",
            "RayTaskError",
        ),
        *("WorkerCrashedError", "TrainingFailedError", "CancelledError", "TimeoutError", "TimeoutExpired"),
        *("RendezvousConnectionError", "RendezvousClosedError", "RendezvousTimeoutError", "RendezvousError"),
        *(
            "OutOfMemoryError",
            "MemoryError",
            "OutOfMemory",
            "AcceleratorError",
            "UserWarning",
            "FutureWarning",
        ),
        *(
            "DeprecationWarning",
            "RuntimeWarning",
            "SIGTERMException",
            "Signal",
            "Interrupted",
            "WorkerDiedError",
        ),
    }
)
_MEMORY = frozenset(
    {"OutOfMemoryError", "MemoryError", "OutOfMemory", "AcceleratorError", "DistBackendError"}
)
_GONE = re2.compile(
    r"(?i)connection (?:closed|reset|was likely closed)|broken pipe|remote process exited|ncclRemoteError|"
    r"pipe closed|failed to recv, got 0 bytes|timed out waiting \d+ms for \w+ operation",
    options(),
)
_NOT_ITS_OWN = re2.compile(
    r"(?i)nccl|\bgloo\b|c10d|ProcessGroup|connection (?:closed|reset|refused|was likely closed|timed out)|"
    r"broken pipe|socket|timed out|timeout|watchdog|barrier|collective|rendezvous|TCPStore|store->|"
    r"\bcuda(?: |_|\b)|CUBLAS_|CUDNN_|cudnn|\bHIP\b|hipError|device-side assert|out of memory|"
    r"cannot allocate memory|no space left|disk quota|stale file handle|input/output error|"
    r"read-only file system|remote i/o|transport endpoint|too many open files|ancdata|shared memory|/dev/shm|"
    r"bus error|killed by signal|DataLoader worker|address already in use|EADDRINUSE|failed to listen|nvml|"
    r"no nvidia driver|driver version|PytorchStreamWriter|PytorchStreamReader|inline_container|"
    r"unexpected pos|"
    r"signal 15|SIGTERM|SIGINT|SIGKILL|preempt|\bnan\b|\binf\b|ECC error|NVLink|worker died|actor died|"
    r"other (?:ranks?|processes|workers|nodes)|remote process exited|\bpeers?\b|pipe closed|"
    r"broken process pool",
    options(),
)
_GOING_ON = re2.compile(
    r"(?i)\b(?:iteration|step|iter|epoch)\w*['\"]?[ :=\[]{0,4}\d.{0,200}?\bloss|\bloss['\"]?[:= ]{1,3}\d",
    options(),
)
_LOSS = re2.compile("loss", options())
_MOST = 512  # ranks whose lines are shown to say the same
_WENT_ON = 5  # iteration lines after an exception that show that training survived it
_STOPPED = frozenset({1, 2, 15})


def judge(case: Case) -> Iterable[Sighting]:
    """Return the exception of the program or of one rank that follows from nothing else."""
    stops = _stops(case.once(orders_in))
    every = list(_all(case))
    for one in every:
        if one.kind and (_is_after(one, stops) or (_follows(one) and _follows(one.root))):
            yield Sighting("exit-exception", (one.line or one.lines[-1], *one.lines[:1]))
    own = [one for one in every if _is_own(one) and not _is_after(one, stops)]
    if own:
        went_on = _last_steps(case.lines_with(_LOSS))
        own = [one for one in own if one.line is None or one.line.number > went_on.get(one.line.source, 0)]
    if not own:
        return
    alike: dict[tuple[str, str, int], list[Traceback]] = {}
    for one in own:
        frame = user_frame(one)
        place = (one.root.kind, frame.file if frame else "", frame.line if frame else 0)
        alike.setdefault(place, []).append(one)
    first = min(own, key=_when)
    group = next(group for group in alike.values() if any(one is first for one in group))
    yield from _verdict(group, own)


def _last_steps(lines: Sequence[Line]) -> dict[str, int]:
    """Return of each file the number of the line after which fewer than _WENT_ON iteration lines come."""
    steps: dict[str, list[int]] = {}
    for line in lines:
        if _GOING_ON.search(line.text[:_LONGEST]):
            steps.setdefault(line.source, []).append(line.number)
    return {source: numbers[-_WENT_ON] for source, numbers in steps.items() if len(numbers) >= _WENT_ON}


def _all(case: Case) -> Iterator[Traceback]:
    """Yield the exceptions of all files, those inside JSON included."""
    lines = identify(case.lines)
    inner = [line for report in reports(lines) for line in report.messages]
    yield from (one for one in (*tracebacks(lines), *tracebacks(inner)) if one.line or one.lines)


def _stops(told: Sequence[Order]) -> dict[str, int]:
    """Return of each file the number of the line from which on somebody stops the job."""
    return {
        order.line.source: order.line.number
        for order in reversed(told)
        if not order.who and order.signal in _STOPPED
    }


def _is_after(one: Traceback, stops: Mapping[str, int]) -> bool:
    at = one.line or one.lines[0]
    return at.number >= stops.get(at.source, at.number + 1)


def _is_own(one: Traceback) -> bool:
    """Tell whether an exception is the program's own: raised, complete, and no message of something else."""
    chain, at = [one], one
    while at.cause is not None and len(chain) < 50:
        at = at.cause
        chain.append(at)
    root = chain[-1]
    if not root.kind:
        return False
    return all(_name(link) not in _SEQUEL_KINDS and not _foreign(link) for link in (root, one)) and (
        one.worker is None
    )


def _follows(one: Traceback) -> bool:
    """Tell whether an exception only says that others are gone, or that its own process was told to end."""
    return (
        _name(one) in _SEQUEL_KINDS - _MEMORY
        or _GONE.search(f"{one.kind}: {one.message}"[:_LONGEST]) is not None
    )


def _foreign(one: Traceback) -> bool:
    return _NOT_ITS_OWN.search(f"{one.kind}: {one.message}"[:_LONGEST]) is not None


def _name(one: Traceback) -> str:
    return one.kind.rsplit(".", 1)[-1]


def _when(one: Traceback) -> tuple[float, str, int]:
    line = one.line or one.lines[0]
    return (line.time if line.time is not None and line.dated else float("inf"), line.source, line.number)


def _verdict(group: Sequence[Traceback], own: Sequence[Traceback]) -> Iterator[Sighting]:
    """Yield the exception: with its rank if it alone raised it, with nobody if it is the program's."""
    first = min(group, key=_when)
    frame = user_frame(first)
    alike = [one.line for one in group if one is not first and one.line is not None]
    alike += [link.lines[0] for one in group for link in (one, one.root) if link.lines]
    evidence = (*_evidence(first), *alike[:_MOST])
    captures = {"exception": first.root.kind, "message": first.root.message[:300]}
    captures |= {"file": frame.file, "line": str(frame.line)} if frame else {}
    ranks = {one.printer.rank for one in group if one.printer.rank is not None}
    others = {one.printer.rank for one in own} - ranks
    if frame is None or _is_library_s(first):
        yield Sighting("library-exception", evidence, NOBODY, (), captures, count=len(group))
    elif len(ranks) == 1 and len({one.printer.rank for one in group}) == 1 and not others:
        who = replace(first.printer, gpu=None)
        yield Sighting("rank-exception", evidence, who, (), captures)
    elif who := _of_ray(group):
        yield Sighting("ray-task-exception", (*evidence, *group[0].lines[:1]), who, (), captures)
    else:
        yield Sighting("program-exception", evidence, NOBODY, (), captures, count=len(group))


def _of_ray(group: Sequence[Traceback]) -> Identity:
    """Return the one process in which Ray ran what raised the exception, if it was one."""
    ran = {replace(one.printer, gpu=None) for one in group if "RayTaskError(" in one.lines[0].text}
    return next(iter(ran)) if len(ran) == 1 and len(group) == 1 else NOBODY


def _is_library_s(one: Traceback) -> bool:
    """Tell whether the class of an exception belongs to a package that no frame of user code lies in."""
    module, dot, _ = one.root.kind.partition(".")
    own = (frame for link in (one.root, one) for frame in link.frames if frame.is_user_code)
    return (
        bool(dot)
        and module != "builtins"
        and not any(module in frame.file.replace(".", "/").split("/") for frame in own)
    )


def _evidence(one: Traceback) -> tuple[Line, ...]:
    """Return the line of the exception first, then the frame of user code, then a later link's line."""
    frame, root = user_frame(one), one.root
    chosen = [root.line or root.lines[-1]]
    if frame is not None:
        where = f'"{frame.file}", line {frame.line}'
        chosen += [line for link in (root, one) for line in link.lines if where in line.text][:1]
    chosen += [one.line] if one.line is not None else []
    return tuple(dict.fromkeys(chosen))
