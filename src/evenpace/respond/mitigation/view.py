"""Put what is known of a slow job into the words of the strategies: its trouble, and the job itself."""

from __future__ import annotations

from collections.abc import Mapping

from evenpace.respond.mitigation.episode import Suspicion
from evenpace.respond.mitigation.loop import Loop
from evenpace.respond.mitigation.pace import Pace
from evenpace.respond.strategies import Cause, Edge, Job, Trouble
from evenpace.watch.events import GroupTime, Probed

SLOW = 1.1  # times its peers' time: from here on a rank counts as slow
LEAST_LINK = 1.5  # times its healthy time: what a slow link is taken for where it was not measured


def trouble(  # noqa: PLR0913, PLR0917 - one argument for each source
    suspicion: Suspicion,
    healthy: float,
    now: float,
    onset: int,
    loop: Loop,
    pace: Pace,
    probed: Probed | None = None,
) -> Trouble:
    """Return the trouble of a job whose iterations took `healthy` and would take `now` seconds."""
    if suspicion.cause is Cause.COMPUTE:
        factors = _factors(suspicion, onset, loop, pace)
        return Trouble(Cause.COMPUTE, healthy, now, factors=factors)
    if suspicion.cause is Cause.LINK:
        ratio = max(LEAST_LINK, now / healthy)
        links = dict.fromkeys(suspicion.links, ratio) | (_measured(probed) if probed else {})
        kept = {edge: factor for edge, factor in links.items() if edge in suspicion.links}
        return Trouble(Cause.LINK, healthy, now, links=kept)
    return Trouble(Cause.UNCLEAR, healthy, now)


def _factors(suspicion: Suspicion, onset: int, loop: Loop, pace: Pace) -> Mapping[int, float]:
    """Measure the suspects by their micro-batches, or by their own time before and since the onset."""
    timed = loop.factors()
    if timed:
        slow = {rank: factor for rank, factor in timed.items() if factor >= SLOW}
        return slow | {rank: timed[rank] for rank in suspicion.ranks if rank in timed}
    before, since = pace.own_before(onset), pace.own(onset)
    return {
        rank: max(1.0, since[rank] / before[rank])
        for rank in suspicion.ranks
        if rank in since and before.get(rank, 0.0) > 0
    }


def _measured(probed: Probed) -> dict[Edge, float]:
    return {
        (probe.source, probe.target): probe.seconds / probe.expected
        for probe in probed.links
        if probe.expected > 0
    }


def traffic(groups: list[GroupTime]) -> dict[Edge, int]:
    """Return the bytes that each ring link carries in an iteration: groups all-reduce in order of rank."""
    carried: dict[Edge, int] = {}
    for group in groups:
        size = len(group.ranks)
        for at, source in enumerate(group.ranks if size > 1 else []):
            edge = source, group.ranks[(at + 1) % size]
            carried[edge] = carried.get(edge, 0) + group.bytes * 2 * (size - 1) // size
    return carried


def job(  # noqa: PLR0913, PLR0917 - one argument for each source
    nodes: Mapping[int, str],
    since: int,
    loop: Loop,
    pace: Pace,
    groups: list[GroupTime],
    restart: float | None,
) -> Job:
    """Return the job as it runs since iteration `since`."""
    return Job(
        ranks=tuple(sorted(nodes)),
        nodes=nodes,
        own=pace.own(since),
        micro_batch=loop.micro_batch,
        counts=loop.counts,
        traffic=traffic(groups),
        microbatches=loop.offers.microbatches,
        positions=loop.offers.positions,
        restart=restart,
    )
