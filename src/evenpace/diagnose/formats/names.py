"""Who printed a log, as far as the name of its file or a shell prompt tells: the weakest of all sources."""

from __future__ import annotations

import re
from functools import lru_cache

from evenpace.diagnose.model import NOBODY, Identity

_ATTEMPT = re.compile(r"(?:^|/)attempt_\d{1,4}/(\d{1,4})/(?:stderr|stdout|error)[^/]{0,40}$")
_LOCAL_RANK = re.compile(r"(?:^|[/_.\-])local_?rank[_\-]?(\d{1,4})(?=[/_.\-]|$)", re.IGNORECASE)
_RANK = re.compile(r"(?:^|[/_.\-])(?:global_?)?rank[_\-=]?(\d{1,7})(?=[/_.\-]|$)", re.IGNORECASE)
_RANK_FOLDER = re.compile(r"(?:^|/)(?:global_?)?rank[_\-=]?(\d{1,7})/[^/]{1,200}$", re.IGNORECASE)
_SLURM = re.compile(r"(?:^|[_.\-])slurm-\d{1,12}(?:_\d{1,9})?-([A-Za-z][\w.\-]{0,80}?)\.(?:out|err|log)")
_JOB_OF = re.compile(r"^[\w.+\-]{1,120}-\d{3,12}-([A-Za-z][\w.\-]{0,80}?)\.(?:out|err|log)(?:\.(?:gz|zst))?$")
_SYSTEM = r"(?:dmesg|kern|kernel|messages|syslog|journal|journalctl|nvidia-smi|ibstat|lspci)"
_SYSTEM_OF = re.compile(rf"(?:^|/){_SYSTEM}[_.\-]([^/]{{1,80}}?)(?:\.(?:log|txt|out))?(?:\.(?:gz|zst))?$")
_OF_SYSTEM = re.compile(rf"(?:^|/)([^/]{{1,80}}?)[_.\-]{_SYSTEM}(?:\.(?:log|txt|out))?(?:\.(?:gz|zst))?$")
_BARE = re.compile(r"(?:^|/)([^/]{1,80}?)\.(?:log|out|err|txt)(?:\.(?:gz|zst))?$")
_FOLDER = re.compile(rf"(?:^|/)([^/]{{1,80}})/{_SYSTEM}[^/]{{0,40}}$")
_HOSTLIKE = re.compile(
    r"[A-Za-z][A-Za-z\-]{0,40}\d[A-Za-z0-9\-]{0,40}(?:\.[A-Za-z][A-Za-z0-9\-]{0,40}){0,6}$"
)
_KNOWN_HOST = re.compile(
    r"(?:ip-\d{1,3}-\d|(?:[a-z]{1,20}-)?(?:node|compute|host|nid|dgx|hgx|cn|gpunode"
    r"|gpu-node|gpu-[a-z]{0,3})[_\-]?[a-z]{0,8}-?\d)",
    re.I,
)
_NO_HOST = re.compile(
    r"(?:job|run|case|boot|day|part|try|attempt|old|new|before|after|test|exp|log|nccl|rank|gpu\d*$"
    r"|epoch|step|v\d"
    r"|train|out|err|stage|version|restart|worker_\d|dump|sample|q\b|x\d)",
    re.I,
)
_MENTIONS = ("srun: error: ", " CANCELLED", "on node ", "ost")
_MENTIONED = re.compile(
    r"srun: error: ([\w.\-]{1,80}): |\bON ([\w.\-]{1,80}) CANCELLED|\bon node ([\w.\-]{1,80})"
    r"|(?:[Hh]ost|Peer host)\s{0,8}: {1,4}([\w.\-]{1,80})$",
    re.M,
)
_PROMPT = re.compile(
    r"(?:\([\w.\-]{1,40}\) ){0,2}\[?[A-Za-z_][\w.\-]{0,40}"
    r"@([A-Za-z0-9][\w.\-]{0,80})[: ][^\s#$%]{0,120}\]? ?[#$%] ?(.*)"
)
# A prompt of a host's name alone, before a command that looks at the machine.
_SHORT_PROMPT = re.compile(
    r"([A-Za-z][\w\-]{0,40}\d[\w.\-]{0,40}) ?[$#>%] ?"
    r"((?:sudo )?(?:nvidia-smi|dmesg|journalctl|grep|cat|ls|lspci|ibstat|ibv_devinfo|ip|df|free|top|uptime"
    r"|dcgmi)\b.{0,300})"
)
_WORD = re.compile(
    r"^(?:(?:pre)?train|finetune|sft|run|job|logs?|out|err|stdout|stderr|worker)[\-_.](?=[a-z])", re.I
)
_HEADER = re.compile(r"host(?:name)?: {1,4}([A-Za-z][\w.\-]{0,80})(?:\s|$)")
_ELSEWHERE = re.compile(
    r"\b(?:mpirun|mpiexec|orterun|prterun|srun|sbatch|salloc|scontrol|sacct|ssh|pdsh|clush"
    r"|ansible\S{0,20}|kubectl|oc"
    r"|docker|nerdctl|crictl|ray|deepspeed|scp|rsync|colossalai)\b|--nnodes|--hostfile|\.(?:out|err|log)\b"
)
_HERE = re.compile(r"/var/log/|/proc/|/sys/")


@lru_cache(maxsize=1024)
def from_name(source: str) -> Identity:
    """Return the identity in the name of a log file, such as `rank3.log`, or nobody."""
    source = source.replace("\\", "/")[-1024:]
    if found := _ATTEMPT.search(source) or _LOCAL_RANK.search(source):
        return Identity(local_rank=int(found[1]))
    name = source.rsplit("/", 1)[-1]
    rank = _RANK.search(name) or _RANK_FOLDER.search(source)
    return Identity(rank=int(rank[1]) if rank else None, host=_host(source, name)) or NOBODY


def _host(source: str, name: str) -> str | None:
    for pattern in (_SLURM, _JOB_OF, _SYSTEM_OF, _OF_SYSTEM):
        found = pattern.search(name)
        if found and _HOSTLIKE.match(found[1]) and not _NO_HOST.match(found[1]):
            return found[1]
    for pattern, text in ((_FOLDER, source), (_BARE, name)):
        found = pattern.search(text)
        name = _WORD.sub("", found[1]) if found else ""
        if _HOSTLIKE.match(name) and _KNOWN_HOST.match(name):
            return name
    return None


def mentions_other_host(text: str, host: str) -> bool:
    """Tell whether launchers or the scheduler speak of another host in a text: the log is not of one host."""
    if not any(word in text for word in _MENTIONS):
        return False
    short = host.split(".", maxsplit=1)[0]
    found = (next(name for name in mention if name) for mention in _MENTIONED.findall(text))
    return any(name.split(".")[0] != short for name in found)


def prompt(text: str) -> tuple[bool, str | None]:
    """Tell whether a line is a shell prompt, and which host printed what follows.

    There is none after a command that runs elsewhere or shows a file that may come from anywhere.
    """
    pattern = _PROMPT if "@" in text[:128] else _SHORT_PROMPT
    found = pattern.match(text[:512])
    if not found:
        header = _HEADER.match(text[:128])
        return header is not None, header[1] if header else None
    elsewhere = _ELSEWHERE.search(found[2]) and not _HERE.search(found[2])
    return True, None if elsewhere else found[1]
