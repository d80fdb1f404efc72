"""How the lines of a piece of a log are labelled as a whole: by task, by host, by local rank."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from evenpace.diagnose.formats.nccl import HOST
from evenpace.diagnose.model import NOBODY, Identity

_SEEN = 400  # lines that tell how a piece is labelled
_LABEL = re.compile(r"\s{0,6}(\d{1,6}): |\s{0,6}\[(\d{1,6})\]: |\s{0,6}\[(\d{1,6})\] ")
_UNLABELLED = re.compile(
    r"\s{0,4}(?:srun|slurmstepd\S{0,80}|sbatch|salloc|mpirun|pdsh\S{0,20}): |\+ |[-=*#]{2,}"
)
_PDSH = re.compile(r"([A-Za-z][\w\-]{0,60}(?:\.[\w\-]{1,60}){0,6}|\d{1,3}(?:\.\d{1,3}){3}): ")
_OWN = re.compile(rf"\[rank\d{{1,7}}\]:|\[default\d{{1,4}}\]:|{HOST}:\d{{1,8}}:\d{{1,8}} \[")
_DEVICE = re.compile(
    r"(?:nvidia|nvme|mlx|eth|en[ops]|ib|docker|veth|br|gpu|cuda|rank|worker\d|step|epoch|iter|layer"
    r"|stage|device|phase"
    r"|port|sd[a-z]|md|dm|loop|usb|pci|cpu|node_?rank|epoch|fold|task|level|part|file|line|job|run|test"
    r"|v)[\d_\-]?\d*",
    re.I,
)
_TABLE = re.compile(r"\bhost {2,12}: ([A-Za-z][\w.\-]{0,80})$", re.M)
_DOUBLE = re.compile(r"(?m)^\[rank\d{1,7}\]: ?\[(?:rank\d{1,7}\]|titan\] )")
# Under one task a node, a launcher starts the ranks: `1: [rank9]:`, `[1,1]<stderr>:[default3]:`.
_TASK = r"^(?:\s{0,6}\[?(\d{1,6})\]?: |\[[^\s\[\]]{0,64}?\d,(\d{1,7})\]<std(?:out|err)>:\s?)"
_UNDER_TASK = re.compile(
    r"(?m)" + _TASK + r"(?:\[(?:default|trainer|worker)\d{1,4}\]:|\[rank(?!(?:\1|\2)\])\d{1,7}\]:"
    r"|[^\n]{0,200}\btorch[./]distributed[./](?:run|elastic|launcher?)\b)"
)


@dataclass(frozen=True, slots=True)
class Labels:
    """Say how the lines of a piece are labelled: by `srun -l`, by pdsh, by `torchrun --role rank`."""

    numbered: int = 0  # the alternative of _LABEL that all lines have
    tasks_are_ranks: bool = True
    hosted: bool = False
    by_local_rank: bool = False
    named: frozenset[str] = frozenset()  # hosts that a launcher's table names


UNLABELLED = Labels()


def of(lines: Sequence[str], text: str) -> Labels:
    """Return how the lines of a piece are labelled, if they consistently are."""
    seen = [line for line in lines[: _SEEN * 2] if line.strip() and not _UNLABELLED.match(line)][:_SEEN]
    double = "[rank" in text and _DOUBLE.search(text) is not None
    named = frozenset(_TABLE.findall(text)) if "host  " in text else frozenset()
    numbered, hosted = _numbered(seen), _hosted(seen, named)
    if not (numbered or hosted or double or "]<std" in text):
        return UNLABELLED
    return Labels(numbered, _UNDER_TASK.search(text) is None, hosted, double, named)


def _numbered(lines: Sequence[str]) -> int:
    if len(lines) < 2:
        return 0
    found = [match for line in lines if (match := _LABEL.match(line))]
    if len(found) < max(2, 0.7 * len(lines)):
        return 0
    kind, count = Counter(match.lastindex or 0 for match in found).most_common(1)[0]
    numbers = [int(match[kind]) for match in found if match.lastindex == kind]
    distinct = len(set(numbers))
    sure = any(_OWN.match(match.string, match.end()) for match in found)
    rising = distinct > 1 and not sure and all(a < b for a, b in pairwise(numbers))
    if count < 0.7 * len(lines) or rising or (kind == 3 and count < 2 * distinct):
        return 0
    return kind


def _hosted(lines: Sequence[str], named: frozenset[str]) -> bool:
    if len(lines) < 3:
        return False
    found = [match[1] for line in lines if (match := _PDSH.match(line))]
    hosts = [name for name in found if _is_labelled(name, Labels(named=named))]
    return len(hosts) >= max(3, 0.6 * len(lines))


def _is_host(name: str) -> bool:
    return any(letter.isdigit() for letter in name) and not _DEVICE.fullmatch(name)


def _is_labelled(name: str, known: Labels) -> bool:
    """Tell whether a label is a host's: it looks like one, or shares a stem with one that a table names."""
    return _is_host(name) or any(name.rstrip("abcdefghij") == one.rstrip("abcdefghij") for one in known.named)


def label(text: str, known: Labels) -> tuple[int, Identity]:
    """Return where the label of a line ends, and whom it names; 0 if it has none."""
    if known.numbered and (found := _LABEL.match(text)) and found.lastindex == known.numbered:
        task = int(found[known.numbered]) if known.tasks_are_ranks else None
        return found.end(), Identity(rank=task)
    if known.hosted and (host := _PDSH.match(text)) and _is_labelled(host[1], known):
        return host.end(), Identity(host=host[1])
    return 0, NOBODY
