"""Learn from a log who is called how: hosts, users, domains, organisations, by the places that name them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from evenpace.diagnose.redact.names import PSEUDONYM, is_address
from evenpace.diagnose.redact.search import Pattern, compiled, findall
from evenpace.diagnose.redact.words import (
    EXTENSIONS,
    KEPT_HOSTS,
    KEPT_USERS,
    PACKAGES,
    PUBLIC_HOSTS,
    SERVICES,
    is_common,
    vital,
)

MOST = 100_000  # names of a kind that are learned
_HOST = r"([A-Za-z0-9][A-Za-z0-9_.\-]*)"
_USER = r"([A-Za-z0-9_][A-Za-z0-9_.\-]*)"
_KEY_END = r"['\"]?\s{0,40}[:=]{1,2}\s{0,20}(?:u?['\"])?"

# Places that name a host for sure, and those where any word may stand.
_SURE = (
    rf"{_HOST}:\d{{1,8}}:\d{{1,8}} \[-?\d",
    rf"{_HOST}<\d{{1,5}}>",
    rf"srun: error: {_HOST}: ",
    rf"ON {_HOST} CANCELLED",
    rf"\[{_HOST}\]:\d{{2,5}}\b",
    rf"\({_HOST}, \d{{2,5}}\)",
    rf"(?m)^(?:<\d+>)?(?:\d+ )?[A-Z][a-z]{{2}} [ \d]?\d \d\d:\d\d:\d\d "
    rf"{_HOST} [\w./()-]{{1,60}}(?:\[\d+\])?: ",
    rf"(?m)^\d{{4}}-\d\d-\d\dT[\d:.,]{{8,18}}(?:Z|[+-]\d\d:?\d\d)? {_HOST} [\w./()-]{{1,60}}(?:\[\d+\])?: ",
    rf"\bpod/{_HOST}",
    rf"(?m)^(?:Name|Node|Hostname):\s{{1,30}}{_HOST}(?:/[\d.]+)?\s*$",
    rf"on +{_HOST} device +\d",
    rf"Successfully assigned [\w.-]+/[\w.-]+ to {_HOST}",
    r"\b((?:[a-z]{1,20}-)?(?:node|compute|host|nid|dgx|hgx|cn|gpunode|gpu-node|worker|server|login|rack)[_-]?[a-z]{0,8}-?\d{2,8}(?:-[a-z0-9]{1,12}){0,3})\b",
    r"\b(i-[0-9a-f]{8,17})\b",
    r"\bon node ['\"]?([A-Za-z][A-Za-z0-9.\-]*\d[A-Za-z0-9.\-]*)",
    r"\b((?:[A-Za-z]\w*-)*ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}[\w.\-]*)",
    r"\b([A-Za-z][\w\-]*[_-]\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3})\b",
)
_LIKELY = (
    rf"(?i)(?:\b|_)(?:host|hostname|host_?name|nodename|node_name|master_addr|master|head_?node|head|batchhost"
    rf"|nodelist|node|exclude|rdzv[_-]endpoint|master[_-]addr|rdzv_id_host|reqnodelist|execnodelist|machine){_KEY_END}{_HOST}",
    rf"--(?:master[_-]addr|rdzv[_-]endpoint|host|hostname|nodelist|exclude|nodes|node|include)"
    rf"[ =]{{1,3}}{_HOST}",
    r"\[([A-Za-z][A-Za-z0-9_.\-]*):\d{2,9}(?::\d{1,9}){0,2}\]",
    rf"\b(?:[Pp]eers?|[Nn]odes?|[Hh]osts?|[Pp]ods?|[Mm]achines?) ['\"]?{_HOST}",
    r"\b(?:[Oo]n|[Ff]rom|[Tt]o|[Aa]t|[Oo]f) ['\"]?([A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*"
    r"(?:\d\d|-\d)(?:\.[A-Za-z0-9.\-]+)?)\b",
    rf"\bssh (?:-\S+ (?:[A-Za-z]+=\S+ )?){{0,8}}{_HOST}",
    rf"(?:tcp|ucx|ssh|rdma|env|etcd|grpc)://{_HOST}",
    rf"(?m)^{_HOST}: ",
    rf"(?:[Pp]ods?|by|assigned|evict\w*|kill\w*|delet\w*)[ =:]{{1,2}}['\"]?[a-z0-9.\-]+/{_HOST}",
    rf"WORLD INFO DICT: \{{'{_HOST}'",
)
_DOMAINS = compiled(
    r"\b((?:[A-Za-z0-9][A-Za-z0-9_-]*\.)+(?:com|org|edu|gov|mil|internal|localdomain|lan|corp|cluster|intra"
    r"|intranet|example|svc|arpa|hpc|local|private)"
    r"|(?:[A-Za-z0-9][A-Za-z0-9_-]*\.){2,8}(?:net|io|ai|dev|cloud|app|tech|kr|de|fr|uk|jp|cn|ch|eu|us|ca|au|it"
    r"|es|nl|se|no|fi|dk|pl|at|be|in|tw|sg|hk|br|ru|il|cz|pt|ie))\b"
)
LISTS = compiled(r"\b([A-Za-z][A-Za-z0-9_\-]{0,60})\[(\d+(?:[,\-]\d+)*)\]([A-Za-z0-9\-]{0,60})")
_USERS = (
    r"(?i)/(?:home|homes|users)/([^\s/'\"`<>|:;,()\[\]{}*?$\\]+)",
    r"[A-Za-z]:\\{1,2}(?:Users|Documents and Settings)\\{1,2}([^\s\\'\"<>|]+)",
    rf"(?i)(?:\b|_)(?:user|username|user_?name|userid|logname|sudo_user|owner|login|runas|author){_KEY_END}{_USER}",
    rf"\b(?:e?uid|gid)=\d+\({_USER}\)",
    rf"(?:for|by|as) (?:invalid )?user '?\"?{_USER}",
    rf"Accepted \w+ for {_USER} from",
    rf"logged in as:? {_USER}",
    rf"(?:^|\s)--(?:user|username|login)[ =]{_USER}",
    r"\b([A-Za-z0-9_][A-Za-z0-9_.+\-]*)@[A-Za-z][A-Za-z0-9.\-]*[A-Za-z0-9]",
    r"://([A-Za-z0-9_][A-Za-z0-9_.+\-]*)(?::[^@/\s]{1,200})?@",
)
_AT = compiled(rf"[A-Za-z0-9_][A-Za-z0-9_.+\-]*@{_HOST}")
_ORGANISATIONS = (
    rf"(?i)(?:\b|_)(?:account|slurm_job_account|entity|organi[sz]ation|team){_KEY_END}{_USER}",
    rf"--account[ =]{_USER}",
    rf"(?m)^Namespace:\s{{1,30}}{_USER}\s*$",
    rf"logged in as:? [\w.\-]+ \({_USER}\)",
)
_TAKEN = compiled(
    r"anon-(?:host|user|org|bucket|domain)\d{1,9}(?:\.example)?|\bdir\d{1,9}\b|\bfile\d{1,9}\b|198\.1[89]\.\d{1,3}\."
    r"|00000000-0000-4000-8000-[0-9a-f]{12}|2001:db8::[0-9a-f]{1,8}|fe80::[0-9a-f]{1,8}|\b0{8}\d{5}\b"
)
_FILE = re.compile(rf".{{1,250}}\.(?:{EXTENSIONS})$|.*\.(?:cpp|plt)$", re.IGNORECASE)
_NO_NAME = re.compile(
    r"[\d.,:_+\-]*$|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f\-]{17}$|0x[0-9a-f]*$|[\d.]+e[+-]?\d+$|sha256$"
    r"|[A-Z]{1,3}$|\d+(?:st|nd|rd|th|[kKMGT]i?B?|ms|us|s)$"
)
_NUMBERED = re.compile(r"(?:\d\d|-\d)$")
_DEVICE = re.compile(
    r"gpu_?(?:\d|1[0-5])$|(?:cuda|rank|local_?rank|step|epoch|iter|layer|eth|ens|enp|eno|ib|mlx|bond|hsn|veth|nvme|sd|md|cpu|numa"
    r"|default|trainer|device|stage|group|dp|tp|pp|fp|bf|int|float|uint|sm|v|cu|py|r|x|q|h|a|b|l|t|p)_?\d{1,5}(?:[_.:-]\d+)*$",
    re.IGNORECASE,
)


def _compiled(patterns: Iterable[str]) -> tuple[Pattern, ...]:
    return tuple(compiled(pattern) for pattern in patterns)


_SURE_PATTERNS, _LIKELY_PATTERNS = _compiled(_SURE), _compiled(_LIKELY)
_BEHIND_A_PREPOSITION = next(one for one in _LIKELY_PATTERNS if b"[Ff]rom" in one.pattern)
_USER_PATTERNS, _ORGANISATION_PATTERNS = _compiled(_USERS), _compiled(_ORGANISATIONS)


@dataclass(slots=True)
class Learned:
    """Hold what was learned: `everywhere` are names that are replaced wherever they stand as a word."""

    hosts: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    organisations: set[str] = field(default_factory=set)
    domains: set[str] = field(default_factory=set)
    secrets: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)

    def feed(self, text: str) -> None:
        """Take in a piece of a log, made of whole lines."""
        data = text.encode("utf-8", "replace")
        self.taken |= findall(_TAKEN, data)
        for pattern in _SURE_PATTERNS:
            self._hosts(findall(pattern, data))
        for pattern in _LIKELY_PATTERNS:
            by_key = pattern is not _BEHIND_A_PREPOSITION
            self._hosts(name for name in findall(pattern, data) if not _is_plain_word(name, by_key))
        self._hosts(findall(_DOMAINS, data) | (findall(_AT, data) if "@" in text else set()))
        for found in findall(LISTS, data):
            self._hosts(expanded(*found))
        for pattern in _USER_PATTERNS:
            self._add_users(self.users, findall(pattern, data))
        for pattern in _ORGANISATION_PATTERNS:
            self._add_users(self.organisations, findall(pattern, data))

    def _hosts(self, names: Iterable[str]) -> None:
        for name in names:
            self.add_host(name)

    def add_host(self, name: str) -> None:
        """Learn the name of a host, with its domain, unless it is an address or everybody's."""
        name = name.rstrip(".-_")
        if len(self.hosts) >= MOST or not is_host_name(name):
            return
        short, _, domain = name.partition(".")
        if domain and short in PACKAGES:
            return
        if domain and not PSEUDONYM.match(domain) and not set(domain.lower().split(".")) <= _GENERIC:
            self.domains.add(domain)
        if is_host_name(short) and not (domain and short.isalpha() and is_common(short)):
            self.hosts.add(short)

    def _add_users(self, into: set[str], names: Iterable[str]) -> None:
        for name in names:
            self._add_user(into, name)

    def _add_user(self, into: set[str], name: str) -> None:
        name = name.rstrip(".-_")
        lower = name.lower()
        if len(into) >= MOST or len(name) < 2 or lower in KEPT_USERS or PSEUDONYM.fullmatch(name):
            return
        if _NO_NAME.match(name) or _FILE.match(name) or "${" in name or lower.startswith("anon-"):
            return
        into.add(name)


_GENERIC = frozenset(
    (
        *("svc", "cluster", "local", "internal", "compute", "ec2", "localdomain", "lan", "example"),
        *("com", "org", "net", "edu", "gov", "io", "ai", "arpa", "private", "default"),
    )
)


def is_host_name(name: str) -> bool:
    """Tell whether a word can be a host's own name: no address, no file, no device, nothing everybody has."""
    lower = name.lower()
    if len(name) < 2 or lower in KEPT_HOSTS or lower in PUBLIC_HOSTS or lower in SERVICES or is_address(name):
        return False
    if lower.startswith(("veth", "br-", "docker")) or lower.endswith("_main_thread"):
        return False
    if PSEUDONYM.match(name) or _NO_NAME.match(name) or _FILE.match(name) or _DEVICE.match(name):
        return False
    return lower not in vital()


def _is_plain_word(name: str, by_key: bool) -> bool:
    """Tell whether what stands where a host could is rather a word, a module or a variable."""
    name = name.rstrip(".-_")
    if (
        (is_common(name) and not (by_key and _NUMBERED.search(name)))
        or name.replace("_", "").isalpha()
        or ("_" in name and name.upper() == name)
    ):
        return True
    first, dot, _ = name.partition(".")
    return bool(dot) and not any(letter.isdigit() or letter == "-" for letter in first)


def expanded(prefix: str, ranges: str, suffix: str) -> Iterator[str]:
    """Yield the members of a Slurm node list such as `node[001-004,007]-ib`, at most 4096."""
    left = 4096
    if "-" not in ranges and not any(part.startswith("0") and len(part) > 1 for part in ranges.split(",")):
        return
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()) or len(first) > 9 or len(last) > 9:
            continue
        for number in range(int(first), min(int(last or first), int(first) + left) + 1):
            left -= 1
            if left < 0:
                return
            yield f"{prefix}{number:0{len(first)}d}{suffix}"
