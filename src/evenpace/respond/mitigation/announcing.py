"""Announce a plan to the job's loop, and see it take effect; read what the loop offers.

Files and header fields are described in `evenpace_tap/layout.py`. The loop itself makes all ranks switch at
one step; here a plan is only handed to rank 0.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from evenpace.collect import beside
from evenpace.collect.job.rings import RingError, RingHeader, RingReader
from evenpace.respond.handing import put
from evenpace.respond.strategies import Estimate, MicroBatchOffer, PositionOffer
from evenpace.tap.inject.evenpace_tap import layout

MOST_BYTES = 8 << 20  # of an offer
MOST_RANKS = 1 << 17
MOST_MICRO_BATCHES = 1 << 20
MOST_IN_PIPELINE = 256  # micro-batches of a step with which a pipeline is reckoned: more would take seconds
_MOST_STATE = 1 << 50  # bytes of a rank
_MOST_VERSION = 1 << 62


@dataclass(frozen=True, slots=True)
class Offers:
    """What a loop can do, if anything."""

    microbatches: MicroBatchOffer | None = None
    positions: PositionOffer | None = None


def read_offers(ring: Path) -> Offers:
    """Return what the loop of the worker with that ring offers; nothing where there is no sound offer."""
    try:
        said = json.loads(beside.read(ring.with_suffix(layout.OFFER_SUFFIX), MOST_BYTES))
        if not isinstance(said, dict):
            return Offers()
        return Offers(_microbatches(said.get("microbatches")), _positions(said.get("positions")))
    except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return Offers()


def _microbatches(said: object) -> MicroBatchOffer | None:
    if not isinstance(said, dict):
        return None
    replicas = tuple(tuple(int(rank) for rank in ranks) for ranks in said["replicas"][:MOST_RANKS])
    offer = MicroBatchOffer(int(said["total"]), replicas, int(said.get("least", 1)))
    sound = replicas and all(replicas) and offer.least >= 1 and offer.total <= MOST_MICRO_BATCHES
    return offer if sound and offer.total >= offer.least * len(replicas) else None


def _positions(said: object) -> PositionOffer | None:
    if not isinstance(said, dict):
        return None
    ranks = tuple(int(position) for position in said["ranks"][:MOST_RANKS])
    sizes = tuple(int(size) for size in said["bytes"][:MOST_RANKS])
    micro_batches = min(max(0, int(said.get("micro_batches", 0))), MOST_IN_PIPELINE)
    offer = PositionOffer(int(said["pipeline"]), int(said["data"]), ranks, sizes, micro_batches)
    sound = ranks and offer.pipeline * offer.data == len(ranks) and len(sizes) == offer.pipeline
    sound = sound and sorted(ranks) == list(range(len(ranks)))
    return offer if sound and all(0 <= size <= _MOST_STATE for size in sizes) else None


def read_header(ring: Path) -> RingHeader | None:
    """Return a ring's header as it is now; None where it cannot be read."""
    try:
        reader = RingReader(ring)
    except (OSError, RingError):
        return None
    try:
        return reader.header()
    except (OSError, RingError):
        return None
    finally:
        reader.close()


def announced(ring: Path) -> int:
    """Return the version of the plan that rank 0, whose ring that is, was handed last; 0 where of none."""
    try:
        version = json.loads(beside.read(ring.with_suffix(layout.PLAN_SUFFIX), MOST_BYTES))["version"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0
    return version if isinstance(version, int) and 0 <= version <= _MOST_VERSION else 0


def announce(ring: Path, version: int, plan: Estimate) -> None:
    """Hand a plan to rank 0, whose ring that is; raises OSError."""
    said: dict[str, object] = {"version": version}
    if plan.counts:
        said["counts"] = list(plan.counts)
    if plan.positions:
        said["positions"] = list(plan.positions)
    put(ring.with_suffix(layout.PLAN_SUFFIX), json.dumps(said))
