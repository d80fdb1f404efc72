"""Judge lost connections: whom all the witnesses miss, and whose log stops or is silent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import re2

from evenpace.diagnose.matching import options
from evenpace.diagnose.model import Case, Identity, Line, Sighting, Source

_LONGEST = 16 * 1024
_FEWEST = 3  # logs of different hosts without which silence is no evidence
_SILENCE = 60.0  # seconds by which a log must end before all the others
_ADDRESS = r"\[?(?:::ffff:)?(?P<address>[A-Za-z0-9][\w.-]{0,253})"
_NOWHERE = frozenset({"localhost", "127.0.0.1", "0.0.0.0", "::1", "unknown"})  # noqa: S104 - compared, never bound

_COMPLAINTS = [
    re2.compile(pattern, options())
    for pattern in (
        r"Call to (?:recv|send|recvmsg|sendmsg)(?: from| to)? " + _ADDRESS + r"<\d+> failed : "
        r"(?:Broken pipe|Connection reset by peer|Connection refused|Transport endpoint is not connected)",
        r"Connection closed by remote peer " + _ADDRESS + "<",
        r"Connection closed by peer \[?(?:::ffff:)?" + r"(?P<address>[\w.-]{1,253})\]?:\d",
        r"(?:Read|Write|Connect|writev|readv)[^\[]{0,40} \[(?:::ffff:)?(?P<address>[\w.-]{1,253})\]:\d+: "
        r"(?:Connection reset by peer|Broken pipe)",
        r"socketProgress(?:Opt)?: [^<]{0,80} " + _ADDRESS + r"<\d+> (?:failed|closed)",
    )
]
_LOST_PEER = re2.compile(
    r"Call to (?:recv|send)|Connection closed by |: (?:Connection reset by peer|Broken pipe)|socketProgress|"
    r"unexpectedly disconnected|(?:Local|Peer) host: ",
    options(),
)
_USING = re2.compile("sing", options())
_MPI_LEFT = re2.compile(r"An MPI communication peer process has unexpectedly disconnected", options())
_MPI_PEER = re2.compile(r"^\s*Peer host: +(?P<address>[\w.:-]+)", options())
_NCCL = re2.compile(r"(?:^|\s)(?P<host>[A-Za-z0-9][\w.-]{0,253}):\d+:\d+ \[\d+\]", options())
_MPI_LOCAL = re2.compile(r"^\s*Local host: +(?P<host>[\w.:-]+)", options())
_OWN_ADDRESS = re2.compile(
    r"(?:Bootstrap ?: Using|NET/Socket : Using|OOB) (?:\[\d+\])?[\w.:-]*?:(?P<address>\d+\.\d+\.\d+\.\d+)<",
    options(),
)
_FURTHER = re2.compile(r"\[\d+\][\w.-]+:(?P<address>\d+\.\d+\.\d+\.\d+)<", options())
_TROUBLE = re2.compile(
    r"Watchdog caught|watchdog got stuck|NCCL WARN|Connection closed by|Connection reset by peer|Broken pipe|"
    r"Timed out waiting|remote process exited|recvValue failed|heartbeat (?:timeout|timed out)|"
    r"Traceback \(most recent call last\)|terminate called|Some NCCL operations have failed",
    options(),
)
_FABRIC = re2.compile(r"-(?:ib|opa|hsn|eth|ipoib|mgmt|data)\d{0,2}$", options())


def judge(case: Case) -> Iterable[Sighting]:
    """Return the one remote host that all complain of, and the one host whose log fell silent."""
    yield from _accused(case)
    yield from _silent(case)


@dataclass(frozen=True, slots=True)
class _Complaint:
    witness: str
    accused: str
    line: Line
    spelled: str


def _accused(case: Case) -> Iterator[Sighting]:
    lost = case.lines_with(_LOST_PEER)
    names = _aliases(case.lines_with(_USING)) if lost else {}
    said = [one for one in _complaints(lost, names) if one.witness != one.accused]
    witnesses = {one.witness for one in said}
    accused = {one.accused for one in said} - witnesses
    if len(accused) != 1 or any(map(_tells_more, case.lines_with(_OTHER))):
        return
    (host,) = accused
    against = [one for one in said if one.accused == host]
    spelled = Counter(one.spelled for one in against).most_common(1)[0][0]
    sequel = case.lines_with(_SEQUEL)[:2]
    evidence = tuple(dict.fromkeys((*(one.line for one in against[:3]), *sequel)))
    victims = tuple(Identity(host=name) for name in sorted(witnesses))[:64]
    yield Sighting(
        "peer-died", evidence, Identity(host=spelled), victims, {"peer": spelled}, count=len(against)
    )


def _tells_more(line: Line) -> bool:
    """Tell whether trouble is no lost connection: somebody says why it ended."""
    text = line.text[:_LONGEST]
    return not (_LOST.search(text) or any(pattern.search(text) for pattern in _COMPLAINTS))


_OTHER = re2.compile(
    r"NCCL WARN|CANCELLED AT|DUE TO|(?i:preempt)|out of memory|oom[-_ ]kill|No space left|"
    r"Segmentation fault|Xid|Received \S+ death signal|Watchdog caught|CUDA error|Cuda failure",
    options(),
)
_LOST = re2.compile(
    r"Failed to execute operation|retcode \d|Socket recv failed|remote process exited|"
    r"Connection (?:closed|reset)|Broken pipe|\[Proxy Service|Call to (?:recv|send)",
    options(),
)
_SEQUEL = re2.compile(r"Failed to execute operation \w+ from rank \d+, retcode|ncclRemoteError", options())


def _complaints(lines: Iterable[Line], names: Mapping[str, str]) -> Iterator[_Complaint]:
    local, left = "", False
    for line in lines:
        text = line.text[:_LONGEST]
        printer = _printer(line)
        if _MPI_LEFT.search(text):
            local, left = "", True
        elif left and (found := _MPI_LOCAL.search(text)):
            local = found["host"]
        elif left and (found := _MPI_PEER.search(text)):
            yield _Complaint(_name(local, names), _name(found["address"], names), line, found["address"])
            left = False
        found = next((hit for pattern in _COMPLAINTS if (hit := pattern.search(text))), None)
        if found and found["address"].lower() not in _NOWHERE:
            witness = _name(printer or f"file:{line.source}", names)
            yield _Complaint(witness, _name(found["address"], names), line, found["address"])


def _printer(line: Line) -> str:
    found = _NCCL.search(line.text[:_LONGEST])
    if found:
        return str(found["host"])
    return line.printer.host if isinstance(line.printer.host, str) else ""


def _aliases(lines: Iterable[Line]) -> dict[str, str]:
    """Return the host of each address that a host says is its own."""
    names: dict[str, str] = {}
    for line in lines:
        text = line.text[:_LONGEST]
        host = _printer(line)
        if host and "sing" in text and (own := _OWN_ADDRESS.search(text)):
            for address in (own["address"], *(more["address"] for more in _FURTHER.finditer(text))):
                names[address] = _short(host)
    return names


def _name(spelled: str, names: Mapping[str, str]) -> str:
    return names.get(spelled, _short(spelled))


def _short(host: str) -> str:
    """Return a host's name without its domain and network; an address stays whole."""
    if host.replace(".", "").replace(":", "").isdigit():
        return host.lower()
    return str(_FABRIC.sub("", host.partition(".")[0].lower()))


def _silent(case: Case) -> Iterator[Sighting]:
    """Yield the host whose log ends long before the others', or lacks the trouble they all have."""
    siblings = _siblings(case.sources)
    if len(siblings) < _FEWEST:
        return
    trouble = case.lines_with(_TROUBLE)
    odd = _stopped(siblings) or _untroubled(siblings, trouble)
    if odd is None:
        return
    of_odd = case.by_source.get(odd.name, [])
    last = of_odd[-1:]
    others = [line for line in trouble if line.source != odd.name][:2]
    if last and others:
        who = Identity(host=_host(of_odd))
        yield Sighting("silent-host", (*last, *others), who, (), {"file": odd.name})


def _siblings(sources: Sequence[Source]) -> list[Source]:
    """Return the largest family of files whose names differ only in one token: one log a host."""
    families: dict[str, list[Source]] = {}
    for source in sources:
        families.setdefault(
            "".join("#" if letter.isdigit() else letter for letter in source.name), []
        ).append(source)
    return max(families.values(), key=len, default=[])


def _stopped(siblings: Sequence[Source]) -> Source | None:
    ends = sorted((one.last, at) for at, one in enumerate(siblings) if one.last is not None)
    if len(ends) != len(siblings):
        return None
    first, rest = ends[0], [end for end, _ in ends[1:]]
    spread = max(rest) - min(rest)
    gap = min(rest) - first[0]
    return siblings[first[1]] if gap > max(_SILENCE, 3 * spread, 0.0) and median(rest) > first[0] else None


def _untroubled(siblings: Sequence[Source], trouble: Sequence[Line]) -> Source | None:
    troubled = {line.source for line in trouble}
    quiet = [one for one in siblings if one.name not in troubled]
    return quiet[0] if len(quiet) == 1 else None


def _host(lines: Sequence[Line]) -> str | None:
    """Return the host of a log, as its lines and its name tell."""
    printers = Counter(host for line in lines if (host := _printer(line)))
    return printers.most_common(1)[0][0] if printers else None
