"""From what Slurm's commands print to the kinds of a snapshot, the same for live answers and dumps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from evenpace.collect.slurm import jobs, shapes
from evenpace.collect.slurm.hostlist import Hostlists
from evenpace.collect.slurm.records import records
from evenpace.collect.slurm.settings import settings

MOST_PAST = 200_000  # jobs of the accounting: the newest are kept
_EMPTY = re.compile(r"No \w+ in the system")
_TEXTS: dict[str, tuple[str, Callable[[str, Hostlists], Any]]] = {
    "nodes": ("NodeName", shapes.node_of_text),
    "partitions": ("PartitionName", shapes.partition_of_text),
    "reservations": ("ReservationName", shapes.reservation_of_text),
    "jobs": ("JobId", jobs.job_of_text),
}
_JSON: dict[str, tuple[str, Callable[[Mapping[str, Any], Hostlists], Any]]] = {
    "nodes": ("nodes", shapes.node_of_json),
    "partitions": ("partitions", shapes.partition_of_json),
    "reservations": ("reservations", shapes.reservation_of_json),
    "jobs": ("jobs", jobs.job_of_json),
    "accounting": ("jobs", jobs.past_of_json),
}


def of_text(kind: str, text: str, lists: Hostlists) -> Any:
    """Return what a kind's text holds; raises ValueError where it holds nothing of that kind."""
    if kind == "config":
        return settings(text)
    if kind == "accounting":
        return _accounting(text, lists)
    if kind not in _TEXTS:
        return _written(text)
    first, read = _TEXTS[kind]
    found = tuple(read(record, lists) for record in records(text, first))
    if not found and not _EMPTY.search(text):
        raise ValueError(f"no record {first}=")
    return _living(kind, found)


def of_json(kind: str, raw: bytes, lists: Hostlists) -> Any:
    """Return what a kind's JSON holds; raises ValueError where it is no such JSON."""
    key, read = _JSON[kind]
    try:
        lists_of = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        if kind == "nodes" and "sinfo" in lists_of:
            return shapes.nodes_of_sinfo(_members(lists_of["sinfo"]))
        if key not in lists_of:
            raise ValueError(f"no list `{key}`")
        return _living(kind, (read(one, lists) for one in _members(lists_of[key])))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)[:200]) from error


def _members(raw: msgspec.Raw) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list, one after the other: all of them at once would take much memory."""
    for member in msgspec.json.decode(raw, type=list[msgspec.Raw])[-MOST_PAST:]:
        found = msgspec.json.decode(member)
        if isinstance(found, dict):
            yield found


def _living(kind: str, found: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(one for one in found if kind != "jobs" or not jobs.over(one))


def _accounting(text: str, lists: Hostlists) -> tuple[Any, ...]:
    """Read a table with `|`; a line with other than as many columns is left out."""
    head, *lines = text.splitlines() or [""]
    names = head.removesuffix("|").split("|")
    if "State" not in names:
        raise ValueError("no header with State, as `sacct --parsable2` prints it")
    rows = (line.split("|") for line in lines[-MOST_PAST:])
    fitting = (row[: len(names)] for row in rows if len(row) in {len(names), len(names) + 1})
    found = (jobs.past_of_text(dict(zip(names, row, strict=True)), lists) for row in fitting)
    return tuple(one for one in found if "." not in one.id)  # steps are no jobs


def _written(text: str) -> str:
    if not text.strip():
        raise ValueError("empty")
    return text
