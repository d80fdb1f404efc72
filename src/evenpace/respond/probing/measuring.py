"""What paused workers are asked: the same arithmetic of some, then a message over each link, in passes."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from evenpace.locate.compute import Worker
from evenpace.locate.links import Edge, LinkTime, passes
from evenpace.respond.probing.meeting import Meeting, Word

ROUNDS = 2  # of everything; the best stands, for what disturbs for a moment is not what is looked for
AGAIN = 6  # more rounds at most of what looks slow
_AGAIN_SECONDS = 1.2  # of workers or of links, after which nothing is measured a second time again
LINK_SECONDS = 0.15  # of a stream over a link, in each round
_MOST_TURNS = 4  # in which workers that share cores measure one after the other
_PATIENCE = 1.5  # seconds beyond what a worker was asked to take


def compute(
    meeting: Meeting, ranks: Iterable[int], slow: Callable[[Sequence[Worker]], set[int]]
) -> list[Worker]:
    """Let these workers multiply, all at once but for those of a host that would take each other's cores.

    Who is `slow` by what has come back is measured again, one a host at a time: what disturbed it may be
    over, or have been its neighbour.
    """
    best: dict[int, Worker] = {}
    began = meeting.lasted
    for again in range(ROUNDS + AGAIN):
        asked = sorted(ranks) if again < ROUNDS else sorted(slow([*best.values()]))
        if not asked or (again > ROUNDS and meeting.lasted - began > _AGAIN_SECONDS):
            break
        for turn in _turns(meeting.hellos, asked, alone=again >= ROUNDS):
            for rank, answer in meeting.ask({rank: {"do": "compute"} for rank in turn}, _PATIENCE).items():
                worker = _worker(rank, answer, str(meeting.hellos[rank].get("hardware", "")))
                best[rank] = _better(best[rank], worker) if rank in best else worker
    return [best[rank] for rank in sorted(best)]


def _better(one: Worker, other: Worker) -> Worker:
    names = {*one.times, *other.times}
    least = {name: min(some.times[name] for some in (one, other) if name in some.times) for name in names}
    return Worker(one.rank, least, one.wrong + other.wrong, one.hardware)


def _turns(hellos: Mapping[int, Word], ranks: Sequence[int], alone: bool) -> Iterator[list[int]]:
    hosts: dict[str, list[int]] = {}
    for rank in ranks:
        if rank in hellos:
            hosts.setdefault(str(hellos[rank].get("host")), []).append(rank)
    shares = [_shares(hellos, its, alone) for its in hosts.values()]
    for place in range(max(map(len, shares), default=0)):
        yield [rank for share in shares for turn in share[place : place + 1] for rank in turn]


def _shares(hellos: Mapping[int, Word], ranks: list[int], alone: bool) -> list[list[int]]:
    """Share a host's workers among turns, as few as its cores allow; one where `alone`."""
    able = int(_number(hellos[ranks[0]].get("at_once")))
    able = len(ranks) if able < 1 else 1 if alone else able
    size = max(able, math.ceil(len(ranks) / _MOST_TURNS))
    return [ranks[first : first + size] for first in range(0, len(ranks), size)]


def _worker(rank: int, answer: Word, hardware: str) -> Worker:
    told = answer.get("times")
    times = {str(name): _number(one) for name, one in (told if isinstance(told, dict) else {}).items()}
    return Worker(
        rank,
        {name: seconds for name, seconds in times.items() if seconds > 0},
        int(_number(answer.get("wrong"))),
        hardware,
    )


def _number(told: object) -> float:
    """Return a number that a worker told; 0 where it is none."""
    return float(told) if isinstance(told, int | float) and 0 <= told < 1e12 else 0.0


def links(
    meeting: Meeting, asked: Iterable[Edge], size: int, slow: Callable[[Sequence[LinkTime]], set[Edge]]
) -> tuple[list[LinkTime], int]:
    """Let each link carry a stream, in passes with at most one transfer a worker.

    Return the seconds of a message of `size` bytes at that pace, where they are known, and the number of
    passes. A pass in which a link is `slow` is repeated as a whole.
    """
    plan = list(enumerate(passes(asked)))
    best: dict[Edge, LinkTime] = {}
    began = meeting.lasted
    for again in range(ROUNDS + AGAIN):
        doubtful = slow([*best.values()]) if again >= ROUNDS else set()
        turns = [one for one in plan if again < ROUNDS or doubtful & set(one[1])]
        if not turns or (again > ROUNDS and meeting.lasted - began > _AGAIN_SECONDS):
            break
        for turn, edges in turns:
            for edge, seconds in _pass(meeting, [edge for edge in edges if _able(meeting, edge)]).items():
                time = LinkTime(edge, seconds * size, turn)
                best[edge] = min(best.get(edge, time), time, key=lambda one: one.seconds)
    return [best[edge] for _, edges in plan for edge in edges if edge in best], len(plan)


def _pass(meeting: Meeting, edges: Sequence[Edge]) -> dict[Edge, float]:
    """Let all these links carry a stream at once; return seconds for a byte, where they are known."""
    transfers = {edge: _transfer(meeting, edge) for edge in edges}
    words = {
        rank: {"do": "links", "transfers": [transfer]}
        for edge, transfer in transfers.items()
        for rank in edge
    }
    answers = meeting.ask(words, LINK_SECONDS + _PATIENCE)
    found = {edge: _seconds(answers.get(edge[1], {})) for edge in edges}
    return {edge: seconds for edge, seconds in found.items() if seconds}


def _able(meeting: Meeting, edge: Edge) -> bool:
    return set(edge) <= meeting.present and isinstance(meeting.hellos[edge[1]].get("address"), list)


def _transfer(meeting: Meeting, edge: Edge) -> dict[str, Any]:
    return {
        "source": edge[0],
        "target": edge[1],
        "address": meeting.hellos[edge[1]]["address"],
        "token": secrets.token_hex(16),
        "seconds": LINK_SECONDS,
    }


def _seconds(answer: Word) -> float:
    """Return the seconds for a byte at the pace of the stream; 0 where it is not known."""
    done = answer.get("transfers")
    first = done[0] if isinstance(done, list) and done else None
    if not isinstance(first, dict):
        return 0.0
    received, seconds = _number(first.get("received")), _number(first.get("seconds"))
    return seconds / max(received, 1.0)  # of a link that carries nothing: long
