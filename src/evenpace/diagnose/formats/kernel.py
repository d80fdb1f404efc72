"""Headers of the kernel log, of syslog and of the journal: who wrote the line, on which host, when."""

from __future__ import annotations

import re

import msgspec

from evenpace.diagnose.formats import stamps
from evenpace.diagnose.formats.stamps import Stamp
from evenpace.diagnose.model import NOBODY, Identity

_HOST = r"([A-Za-z0-9][A-Za-z0-9_.\-]{0,253})"
_SYSLOG = re.compile(rf"\s{_HOST}\s+([A-Za-z][\w.@/()\-]{{0,80}})(?:\[(\d{{1,10}})\])?:\s?")
_DAEMON = re.compile(
    r"(?:kernel|systemd\S{0,40}|kubelet|containerd|dockerd|docker|crio|slurmd|slurmstepd|slurmctld|sshd"
    r"|sudo|su"
    r"|cron|CRON|crond|rsyslogd|dbus-daemon|NetworkManager|nvidia-\S{1,40}|nv-\S{1,40}|dcgm\S{0,40}"
    r"|opensm\S{0,20}"
    r"|earlyoom|multipathd|mount\S{0,20}|rpc\S{0,20}|chronyd|ntpd|snapd|audit|auditd|polkitd|lldpd"
    r"|ipmi\S{0,20}"
    r"|rasdaemon|mcelog|smartd|gdm\S{0,20}|munged|python\d?(?:\.\d+)?|ray|raylet|abrt\S{0,20}|logger)$"
)
_NO_HOST = re.compile(r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|root)$", re.IGNORECASE)
_LEVEL = re.compile(
    r"<\d{1,3}>(?:1 )?"
    r"|(?:kern|user|daemon|auth|syslog|local\d)\s{0,4}[:.](?:emerg|alert|crit|err|error|warn|warning"
    r"|notice|info|debug)"
    r"\s{0,4}:\s"
)
_KERNEL = re.compile(r"(?:kernel|kern):\s")
_MESSAGE = ("MESSAGE", "msg", "message", "log", "event", "text")
_WHEN = (
    "__REALTIME_TIMESTAMP",
    "_SOURCE_REALTIME_TIMESTAMP",
    "@timestamp",
    "timestamp",
    "time",
    "ts",
    "asctime",
)
_WHERE = ("_HOSTNAME", "hostname", "host", "node", "nodename", "node_name")


def level(text: str, at: int) -> int:
    """Return where a kernel level (`<4>`, `kern  :warn  : `) at `at` ends, or 0."""
    found = _LEVEL.match(text, at)
    return found.end() if found else 0


def named_kernel(text: str, at: int) -> int:
    """Return where a `kernel: ` at `at` ends, or 0."""
    found = _KERNEL.match(text, at)
    return found.end() if found else 0


def syslog(text: str, stamp: Stamp, classic: bool) -> tuple[int, Identity, str] | None:
    """Return end, printer and program of `host program[pid]: ` after a stamp.

    Where the stamp is not that of classic syslog, the program must be a known
    daemon: `root INFO:` is no host.
    """
    found = _SYSLOG.match(text, stamp.end)
    if not found or _NO_HOST.match(found[1]) or not (classic or _DAEMON.match(found[2])):
        return None
    return found.end(), Identity(host=found[1]), found[2]


def is_kernel_stamp(text: str, at: int, stamp: Stamp) -> bool:
    """Tell whether only the kernel log has such a stamp: seconds since boot, or those of `dmesg -T`."""
    return stamp.kind == stamps.BOOT or stamps.names_weekday(text, at)


class Record(msgspec.Struct, frozen=True):
    """Hold what a line of JSON says of itself: when, who printed it, and the program."""

    seconds: float | None
    printer: Identity
    program: str


def from_json(text: str) -> Record | None:
    """Return what a record of the journal, of a container runtime or of a structured log says, or None."""
    try:
        fields = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or not any(name in fields for name in _MESSAGE):
        return None
    when = next((fields[name] for name in _WHEN if name in fields), None)
    if when is None:
        return None
    host = next((fields[name] for name in _WHERE if isinstance(fields.get(name), str)), None)
    printer = Identity(
        rank=_small(fields, "global_rank", "rank"), host=host or None, pid=_small(fields, "_PID", "pid")
    )
    return Record(_seconds(when), printer or NOBODY, str(fields.get("SYSLOG_IDENTIFIER", ""))[:80])


def _small(fields: dict[str, object], *names: str) -> int | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1e9:
            return value
    return None


def _seconds(when: object) -> float | None:
    if isinstance(when, str):
        if stamp := stamps.read(when):
            return stamp.seconds if stamp.kind == stamps.DATED else None
        try:
            when = float(when[:40])
        except ValueError:
            return None
    return stamps.from_number(float(when)) if isinstance(when, int | float) and abs(when) < 1e300 else None
