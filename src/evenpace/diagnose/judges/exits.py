"""Judge how processes ended: who died of itself, who was told to, and who only followed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import re2

from evenpace.diagnose.formats.launchers import Exit, Order, exits_in, orders_in
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Identity, Line, Sighting

_LONGEST = 16 * 1024
_TERM = frozenset({1, 2, 10, 12, 15})
_ABORT, _KILL = 6, 9
_OWN_CODES = range(3, 125)  # not those of any exception (1), of wrong usage (2), or of a shell
_NEAR = 12  # lines before a crash in which a complaint may tell its cause
_CRASH = {11: "process-segfault", 7: "sigbus-exit", 4: "process-crash", 8: "process-crash"}
_UNNAMED = {11: "crash-unnamed", 7: "sigbus-exit", 4: "crash-unnamed", 8: "crash-unnamed"}

_OUTSIDE = re2.compile(
    r"death signal, shutting down workers|CANCELLED AT|DUE TO (?:PREEMPTION|TIME LIMIT)|"
    r"(?i:preempt(?:ed|ion|ing))|(?i:spot instance (?:interruption|termination))|oom[-_ ]?kill|OOMKilled|"
    r"(?i:out[ _]of memory: killed process)|Out Of Memory|OutOfMemoryError|killed as a result of limit of|"
    r"memory monitor|Evicted|low on memory|(?i:exceeded memory limit)|activeDeadlineSeconds|DeadlineExceeded",
    options(),
)
_ERROR = re2.compile(r"\b[A-Z]\w*(?:Error|Exception): ", options())
_LOST = re2.compile(
    r"ChildFailedError|CalledProcessError|SignalException|ProcessExited|Connection|Broken pipe|NCCL|"
    r"[Tt]imed? ?out|Dist\w*Error|peer|store|Rendezvous|Actor\w*Error|Signals\.SIG",
    options(),
)
_K8S_REASON = re2.compile(r"(?i)reason\"?: *\"?(?:Error|ContainerStatusUnknown)", options())
_COMPLAINT = re2.compile(r"NCCL WARN|Error\b|ERROR|[Ff]ail(?:ed|ure)|FATAL|Traceback|what\(\):", options())
_NCCL_STACK = re2.compile(r"libnccl|nccl(?:All|Comm|Group|Send|Recv|Proxy|Reduce|Broadcast)\w*", options())


def judge(case: Case) -> Iterable[Sighting]:
    """Return what the ends of processes say. A process that was told to end, or that aborted, is no cause."""
    found, told = case.once(exits_in), case.once(orders_in)
    processes = _merge(found)
    outside = bool(case.lines_with(_OUTSIDE))
    killed = [one for one in processes if one.signal == _KILL and not _was_told(one, told)]
    crashed = [one for one in processes if one.signal in _CRASH]
    seen = [
        *_kills(killed, processes, told, case, outside),
        *_crashes(crashed, processes, case),
        *_ray(found, case, outside),
    ]
    yield from seen
    if not seen:
        yield from _only_codes(processes)


@dataclass(frozen=True, slots=True)
class _Process:
    """One process with all that was said about its end."""

    who: Identity
    said: tuple[Exit, ...]

    @property
    def signal(self) -> int | None:
        known = [one.signal for one in self.said if one.signal is not None]
        return next((one for one in known if one != _ABORT), known[0] if known else None)

    @property
    def code(self) -> int | None:
        return next((one.code for one in self.said if one.code is not None), None)

    @property
    def lines(self) -> tuple[Line, ...]:
        best = max(self.said, key=lambda one: len(one.lines))
        first = self.said[0].lines[:1] if self.said[0] is not best else ()
        return (*first, *(line for line in best.lines[:8]))

    @property
    def library(self) -> str:
        return next((one.library for one in self.said if one.library), "")


def _merge(found: Sequence[Exit]) -> list[_Process]:
    """Return one process for all reports with the same pid, or else with the same rank and host."""
    groups: dict[tuple[object, ...], list[Exit]] = {}
    for one in found:
        key: tuple[object, ...] = (one.launcher, id(one))
        if one.who.pid:
            key = ("pid", one.who.pid)
        elif one.who.rank is not None:
            key = ("rank", one.who.rank, one.who.host)
        groups.setdefault(key, []).append(one)
    merged = []
    for group in groups.values():
        who = NOBODY
        for one in sorted(group, key=lambda one: one.launcher != "torchrun-table"):
            who = who.or_else(one.who)
        merged.append(_Process(who, tuple(group)))
    return merged


def _was_told(process: _Process, told: Sequence[Order]) -> bool:
    """Tell whether a launcher ended the process, by a signal of its own to this pid."""
    pids = {order.who.pid for order in told if order.who and "Killing subprocess" not in order.line.text}
    return process.who.pid in pids if process.who.pid is not None else False


def _kills(
    killed: Sequence[_Process],
    processes: Sequence[_Process],
    told: Sequence[Order],
    case: Case,
    outside: bool,
) -> Iterator[Sighting]:
    """Yield who was ended by SIGKILL without a word why. `outside` says that some line has that word."""
    if outside or not killed or any(order.forced for order in told) or _own_error(case):
        return
    by_kubernetes = any(said.launcher == "kubernetes" for one in killed for said in one.said)
    name = "sigkilled-container" if by_kubernetes and case.lines_with(_K8S_REASON) else "sigkill-no-word"
    named = [one for one in killed if one.who]
    many = len({one.who.rank for one in named if one.who.rank is not None}) > 2
    who = NOBODY if many or not named else _together([one.who for one in named[:2]])
    if not named and len(pids := _deepspeed(told)) == 1:
        who = Identity(pid=pids[0])
    evidence = tuple(dict.fromkeys(line for one in killed[:4] for line in one.lines))
    victims = tuple(one.who for one in processes if one.signal in (*_TERM, _ABORT) and one.who)[:64]
    yield Sighting(name, evidence, who, victims, _captures(killed[0]), count=len(killed))


def _own_error(case: Case) -> bool:
    """Tell whether some process complains of something else than a lost peer: the kill may only clean up."""
    return any(not _LOST.search(line.text[:_LONGEST]) for line in case.lines_with(_ERROR))


def _deepspeed(told: Sequence[Order]) -> list[int]:
    pids = (order.who.pid for order in told if "Killing subprocess" in order.line.text)
    return [pid for pid in pids if isinstance(pid, int)]


def _together(several: Sequence[Identity]) -> Identity:
    """Return one identity of those given: what they agree in, and all of their ranks, hosts and pids."""
    first = several[0]
    if len(several) == 1:
        return first
    ranks = tuple(dict.fromkeys(one.rank for one in several if isinstance(one.rank, int)))
    hosts = tuple(dict.fromkeys(one.host for one in several if isinstance(one.host, str)))
    pids = tuple(dict.fromkeys(one.pid for one in several if isinstance(one.pid, int)))
    return Identity(
        rank=ranks[0] if len(ranks) == 1 else ranks or None,
        host=hosts[0] if len(hosts) == 1 else hosts or None,
        pid=pids[0] if len(pids) == 1 else pids or None,
    )


def _crashes(crashed: Sequence[_Process], processes: Sequence[_Process], case: Case) -> Iterator[Sighting]:
    """Yield the processes that crashed by themselves; where most of them did, nobody is named."""
    if not crashed:
        return
    first = min(crashed, key=_when)
    signal = first.signal or 11
    ranks = {one.who.rank for one in crashed if one.who.rank is not None}
    known = {one.who.rank for one in processes if one.who.rank is not None}
    everywhere = len(ranks) > 1 and len(ranks) * 2 > len(known)
    by_kernel = all(said.launcher.startswith("kernel") for said in first.said)
    named = bool(first.who) and not everywhere and not by_kernel
    library = next((one.library for one in crashed if one.library), "")
    if _in_nccl(first, library, case):
        name = "segfault-in-nccl"
    else:
        name = _CRASH[signal] if named else _UNNAMED[signal]
    if name == "crash-unnamed" and _preceded(first, case):
        return
    evidence = tuple(dict.fromkeys(line for one in crashed[:4] for line in one.lines))
    victims = tuple(one.who for one in processes if one.signal in (*_TERM, _ABORT) and one.who)[:64]
    who = first.who if named else NOBODY
    if name == "sigbus-exit":
        hosts = {one.who.host for one in crashed if one.who.host is not None}
        who = Identity(host=hosts.pop()) if len(hosts) == 1 else NOBODY
    captures = _captures(first) | ({"library": library} if library else {})
    yield Sighting(name, evidence, who, victims, captures, count=len(crashed))


def _preceded(process: _Process, case: Case) -> bool:
    """Tell whether something complained right before an unnamed crash, and tells more than it."""
    if not any(one.launcher in ("shell", "python") for one in process.said):
        return False
    at = process.lines[0]
    before = (line for line in case.by_source[at.source] if 0 < at.number - line.number <= _NEAR)
    return any(_COMPLAINT.search(line.text[:_LONGEST]) for line in before)


def _in_nccl(process: _Process, library: str, case: Case) -> bool:
    """Tell whether a crash lies in NCCL: the kernel names the library, or the stack right after it does."""
    if library:
        return library.startswith("libnccl")
    at = process.lines[0]
    near = (line for line in case.by_source[at.source] if 0 <= line.number - at.number <= 12)
    frames = (line.text[:_LONGEST] for line in near if "#" in line.text or "(" in line.text)
    return any("NCCL INFO" not in text and _NCCL_STACK.search(text) and "0x" in text for text in frames)


def _when(process: _Process) -> tuple[float, str, int]:
    line = process.said[0].lines[0]
    return (line.time if line.time is not None and line.dated else float("inf"), line.source, line.number)


def _ray(found: Sequence[Exit], case: Case, outside: bool) -> Iterator[Sighting]:
    """Yield the worker that Ray lost without knowing why; its rank where the trainer listed its workers."""
    lost = [one for one in found if one.launcher == "ray"]
    if outside or not lost:
        return
    who = lost[0].who
    sequel = case.lines_with(_RAY_SEQUEL)[:2]
    many = len({one.who.pid for one in lost}) > 2
    evidence = (*lost[0].lines, *sequel)
    yield Sighting("ray-worker-lost", evidence, NOBODY if many else who, (), {}, count=len(lost))


_RAY_SEQUEL = re2.compile(
    r"Worker \d+ has failed|Worker unexpectedly exits|ActorDiedError|RayActorError|WorkerCrashedError",
    options(),
)


def _only_codes(processes: Sequence[_Process]) -> Iterator[Sighting]:
    """Yield that the log holds exit codes and nothing else; torchrun's first failure is nobody's fault."""
    failed = [one for one in processes if one.code not in (None, 0)]
    own = [one for one in failed if one.code in _OWN_CODES and one.who]
    if len(own) == 1 and all(one is own[0] or one.signal in (*_TERM, _ABORT) for one in failed):
        yield Sighting("own-exit-code", own[0].lines, own[0].who, (), _captures(own[0]))
    elif failed:
        line = failed[0].lines[0]
        yield Sighting("exit-code-only", (line,), NOBODY, (), _captures(failed[0]), count=len(failed))


def _captures(process: _Process) -> dict[str, str]:
    signal, code = process.signal, process.code
    return {"code": str(code)} | ({"signal": str(signal)} if signal else {})
