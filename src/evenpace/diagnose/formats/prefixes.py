"""What stands before a record: the marks of launchers, of loggers and of those who gather lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from evenpace.diagnose.formats import kernel, labels, nccl, stamps
from evenpace.diagnose.formats.labels import UNLABELLED, Labels
from evenpace.diagnose.formats.stamps import Stamp
from evenpace.diagnose.model import NOBODY, Identity

_DEEPEST = 10

_MARK = re.compile(
    r"\[rank(?P<rank>\d{1,7})\]:\s?"
    r"|\[(?:default|trainer|worker)(?P<local>\d{1,4})\]:"
    r"|\[(?:[\w.\-]{1,64}@)?\d{1,9},(?P<mpi>\d{1,7})\]<(?:stdout|stderr|stddiag)>:\s?"
    r"|\[\d{1,9},mpirank:(?P<algo>\d{1,7}),(?P<algohost>[\w.\-]{1,80})\]<(?:stdout|stderr)>:\s?"
    r"|\[pod/(?P<pod>[^\s/\]]{1,253})/[^\s/\]]{1,253}\]\s?"
    r"|\((?:[A-Za-z_][^()=]{0,120}\s)?(?:rank=(?P<actor>\d{1,7}) )?pid=(?P<ray>\d{1,9})"
    r"(?:,\s?ip=(?P<ip>[0-9A-Fa-f.:]{2,45}))?\)\s?"
    r"|\((?:raylet|autoscaler|scheduler)[^()=]{0,20}(?:,?\s?ip=(?P<node>[0-9A-Fa-f.:]{2,45}))?\)\s?"
    r"|\[(?P<mpihost>[A-Za-z][\w.\-]{0,80}):(?P<mpipid>\d{2,9})\s{0,4}(?::\d{1,9}){0,2}\]\s"
    r"|\[[^\[\]()]{0,120}\(pid (?P<pid>\d{1,9})\)\]\s?"
    r"|(?:stdout|stderr) [FP] |\[(?:stdout|stderr|titan)\]:?\s"
    r"|\[[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\]\s"
    r"|\|\s|:?\s?rank(?P<composer>\d{1,7})\[(?P<composerpid>\d{1,9})\]\["
)
_HOSTS = ("pod", "ip", "node", "mpihost", "algohost")
_STREAM = re.compile(r"[\w.\-]{1,80}(?: \[std(?:out|err)\]|\s{1,20}\|) ?")
_NO_MPI_HOST = re.compile(
    r"(?:PID|RANK|TID|GPU|LINE|STEP|THREAD|DEVICE|INFO|WARN\w*|ERROR|DEBUG)$|.*\.[a-z]{1,4}$", re.I
)
_UCX = re.compile(r"\[1\d{9}\.\d{6}\] \[")
_LEADING = re.compile(
    r"(?:[A-Za-z][\w.\-]{0,40} )?\[?(?:[A-Za-z][\w.\-]{0,20} )?"
    r"(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL"
    r"|[DIWEC])(?:\|[^\]\s]{1,120})?\]?[:,]?\s{1,8}[\[(]?"
)
_TABLE = re.compile(
    r"(?:level=\w{1,10} )?(?:time|timestamp|ts|t)=\"?|\s{1,8}time\s{1,8}: "
    r"|.{0,80}CANCELLED AT |Start(?:ed)? (?:Time|at):\s{1,8}|Timestamp\s{1,40}: "
)
_LEVEL_DATE = re.compile(r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (?=\d\d-\d\d \d\d:\d\d:\d\d)")
_REST = re.compile(r"[^\[\]\n]{0,100}\]:?\s?")
_NANOTRON = re.compile(
    r"\s?\[(?:TRACE|DEBUG|INFO|WARNING|ERROR|CRITICAL)(?:\|[A-Z]{2}=\d{1,6}){2,6}\|([\w.\-]{1,80})\]"
)
_PID = re.compile(r"\[PID:(\d{1,9})\]")
_LOGGED_RANK = re.compile(
    r"\s{0,4}(?:what\(\):\s{1,4})?(?:\[[^\[\]]{0,100}\]\s{0,3}|[\w.]{1,40} - |[A-Z]{4,8} - ){0,5}"
    r"(?:\[RANK:(?P<local>\d{1,7})\]"  # of axolotl: os.environ["LOCAL_RANK"]
    r"|\[(?:RANK|rank|Rank)[:= ]{1,2}(?P<rank>\d{1,7})\]|RANK (?P<upper>\d{1,7}) -)"
)
_GLOG_PID = re.compile(r"\s+(\d{1,7}) (?:torch/|\S{1,200}\.py:\d)")


@dataclass(slots=True)
class Header:
    """Hold what stands before a record: where it ends, who printed, when, and who gathered the whole line."""

    end: int = 0
    printer: Identity = NOBODY
    gatherer: Identity = NOBODY
    stamp: Stamp | None = None
    is_kernel: bool = False
    program: str = ""

    def add(self, who: Identity, gathered: bool = False) -> None:
        """Take an identity in; what was known before stays."""
        if who is NOBODY:
            return
        self.printer = who if self.printer is NOBODY else self.printer.or_else(who)
        if gathered:
            self.gatherer = who if self.gatherer is NOBODY else self.gatherer.or_else(who)


def read(text: str, known: Labels = UNLABELLED, at: int = 0) -> Header:
    """Return what stands before the record in `text` from `at` on."""
    header = Header(at)
    if at == 0:
        header.end, who = labels.label(text, known)
        header.add(who, gathered=True)
    for _ in range(_DEEPEST):
        start = header.end
        while start < len(text) and text[start] in " \t":
            start += 1
        if start >= len(text) or not _token(text, start, header, known):
            break
    _late(text, header)
    return header


def _token(text: str, start: int, header: Header, known: Labels) -> bool:
    letter = text[start]
    if letter in "[(|:sr" and (found := _MARK.match(text, start)) and _mark(found, header, known):
        return True
    if (letter.isalnum() or letter in "[(") and (stamp := stamps.read(text, start)):
        return _stamped(text, start, stamp, header)
    if letter in "<kuadsl" and (end := kernel.level(text, start) or kernel.named_kernel(text, start)):
        header.end, header.is_kernel = end, True
        return True
    if start == 0 and (" [std" in text or "|" in text) and (stream := _STREAM.match(text)):
        header.end = stream.end()
        return True
    if letter.isalnum() and (named := nccl.header(text, start)):
        header.end = named[0]
        header.add(named[1])
    return False


def _mark(found: re.Match[str], header: Header, known: Labels) -> bool:
    said = {name: value for name, value in found.groupdict().items() if value is not None}
    if "mpihost" in said and (_NO_MPI_HOST.match(said["mpihost"]) or not _bare_or_ucx(found, header)):
        return False
    if not said:
        return _taken(found, header, NOBODY, False)
    numbers = {name: int(value) for name, value in said.items() if name not in _HOSTS}
    if "rank" in numbers and known.by_local_rank and header.printer.local_rank is None:
        return _taken(found, header, Identity(local_rank=numbers["rank"]), True)
    if "rank" in numbers and header.printer.rank is not None:
        header.printer = replace(header.printer, rank=None)
    if not known.tasks_are_ranks:
        numbers.pop("mpi", None)
    who = Identity(
        rank=_first(numbers, "rank", "mpi", "algo", "actor", "composer"),
        local_rank=numbers.get("local"),
        host=next((said[name] for name in _HOSTS if name in said), None),
        pid=_first(numbers, "ray", "pid", "mpipid", "composerpid"),
    )
    return _taken(found, header, who, bool({"mpi", "algo", "pod", "local", "pid"} & said.keys()))


def _bare_or_ucx(found: re.Match[str], header: Header) -> bool:
    """Tell whether `[host:pid]` begins the line, or follows `[seconds since the epoch]` as in UCX."""
    return header.end == 0 or _UCX.match(found.string) is not None


def _first(numbers: dict[str, int], *names: str) -> int | None:
    return next((numbers[name] for name in names if name in numbers), None)


def _taken(found: re.Match[str], header: Header, who: Identity, gathered: bool) -> bool:
    header.end = found.end()
    header.add(who, gathered)
    return True


def _stamped(text: str, start: int, stamp: Stamp, header: Header) -> bool:
    first = header.stamp is None
    if header.stamp is None or stamp.kind > header.stamp.kind:
        header.stamp = stamp
    if not header.is_kernel and first and kernel.is_kernel_stamp(text, start, stamp):
        header.is_kernel = True
    header.end = stamp.end
    if text[start] in "[(" and text[stamp.end - 1] not in "])" and (rest := _REST.match(text, stamp.end)):
        header.end = rest.end()
    elif found := kernel.syslog(text, stamp, stamps.names_month(text, start)):
        header.end, who, header.program = found
        header.is_kernel = header.is_kernel or found[2] == "kernel"
        header.add(who, gathered=True)
        return True
    if text[start] in "[ABCDEFIW" and (pid := _GLOG_PID.match(text, stamp.end)) and int(pid[1]) < 1 << 22:
        header.add(Identity(pid=int(pid[1])))
    if text.startswith(": ", header.end):  # what gathers lines may end its stamp so
        header.end += 1
    if header.end < len(text) and text[header.end] in " \t":
        header.end += 1
    return True


def _late(text: str, header: Header) -> None:
    """Take in what loggers write after their level, and a date behind their name."""
    at = header.end
    if header.stamp is None and ":" in text and (date := stamps.anywhere(text, at, at + 160)):
        start, stamp = date
        if _LEADING.fullmatch(text, at, start) or _TABLE.fullmatch(text, at, start):
            header.stamp = stamp
    elif header.stamp is None and (short := _LEVEL_DATE.match(text, at)):
        header.stamp = stamps.month_and_day(text, short.end())
    head = text[at : at + 240]
    if "[PID:" in head and (pid := _PID.search(head)):
        header.add(Identity(pid=int(pid[1])))
    if ("ank" in head or "RANK" in head) and (rank := _LOGGED_RANK.match(head)):
        said = rank["rank"] or rank["upper"]
        local = header.printer.local_rank
        if not said:
            header.add(Identity(local_rank=int(rank["local"])))
        elif not (isinstance(local, int) and int(said) < local):  # else it is a rank in a group
            header.add(Identity(rank=int(said)))
    if "|" in head and (nanotron := _NANOTRON.match(head)):
        header.add(Identity(host=nanotron[1]))
