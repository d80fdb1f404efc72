"""Judge what the ranks issued against each other: a skipped, an added, a differently shaped collective."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenpace.detect.desync import Disagreement, Signature, judge
from evenpace.findings import Evidence, Finding, Terms
from evenpace.tap.inject.evenpace_tap import layout
from evenpace.terms import say
from evenpace.watch.events import stamp
from evenpace.watch.sayings import Details, make
from evenpace.watch.worker import Worker

RECENT = 2048  # operations per worker that are compared


def judge_mismatch(workers: list[Worker], now: float) -> Finding | None:
    """Return a finding where the members of a group issued different operations; None where all agree."""
    by_rank = {worker.id.rank: worker for worker in workers}
    for group, members in _groups(workers).items():
        # What was not recorded, or not read, would shift a rank against the others.
        first, history = _history(group, [by_rank[r] for r in members if r in by_rank and by_rank[r].whole])
        disagreement = judge(group, first, history) if len(history) > 1 else None
        if disagreement:
            return _finding(disagreement, by_rank, now)
    return None


def _groups(workers: list[Worker]) -> dict[int, tuple[int, ...]]:
    book = workers[0].book if workers else None
    return {number: tuple(group.ranks) for number, group in enumerate(book.groups)} if book else {}


def _history(group: int, members: list[Worker]) -> tuple[int, dict[int, list[Signature]]]:
    """Return the members' recent collectives from the first sequence that all of them still have."""
    streams = {}
    for worker in members:
        recent = worker.window.tail(RECENT)
        mine = recent[(recent["group"] == group) & ~recent["point_to_point"]]
        if len(mine):
            streams[worker.id.rank] = mine
    first = max((int(stream["sequence"][0]) for stream in streams.values()), default=0)
    return first, {
        rank: [
            Signature(layout.KINDS[int(one["kind"])], int(one["bytes"]), int(one["peer"]))
            for one in stream[stream["sequence"] >= first]
        ]
        for rank, stream in streams.items()
        if (np.diff(stream["sequence"]) == 1).all()
    }


def _finding(found: Disagreement, by_rank: Mapping[int, Worker], now: float) -> Finding:
    evidence = [
        Evidence(
            source=f"rank {rank} ring",
            metric=f"operation at sequence {found.sequence}",
            value=_signature(one),
            expected=_signature(found.expected) if found.expected else None,
        )
        for rank, one in sorted(found.issued.items())[:16]
    ]
    if not found.culprits or found.expected is None:
        variants = ", ".join(sorted({_signature(one) for one in found.issued.values()}))
        return make(
            "collective-desync",
            "desync-unclear",
            {"sequence": found.sequence, "variants": variants},
            confidence=0.6,
            since=stamp(now),
            evidence=evidence,
            advice=["advice-same-path"],
            missing=["missing-majority"],
            terms=HANGS,
        )
    return make(
        "collective-desync",
        "desync-culprit",
        _details(found, found.expected, by_rank),
        culprits=[by_rank[rank].id for rank in sorted(found.culprits)],
        victims=[by_rank[rank].id for rank in sorted(found.issued) if rank not in found.culprits],
        confidence=0.95,
        since=stamp(now),
        evidence=evidence,
        advice=["advice-same-path"],
        terms=HANGS,
    )


def _details(found: Disagreement, expected: Signature, by_rank: Mapping[int, Worker]) -> Details:
    odd = sorted(found.culprits)
    difference = found.culprits[odd[0]].value
    return {
        "rank": ", ".join(map(str, odd)),
        "node": ", ".join(sorted({by_rank[rank].id.node for rank in odd})),
        "own": _signature(found.issued[odd[0]]),
        "others": _signature(expected),
        "count": len(found.issued) - len(odd),
        "sequence": found.sequence,
        "difference": say(f"difference-{difference}", "en"),
    }


def _signature(one: Signature) -> str:
    return f"{one.kind}({one.bytes} B)"


HANGS = Terms(symptom=("hang", "nccl-error"))
