"""Announce a plan to the job's loop, and see it take effect; read what the loop offers.

Files and header fields are described in `evenpace_tap/layout.py`. The loop itself makes all ranks switch at
one step; here a plan is only handed to rank 0.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from evenpace.collect.job.rings import RingError, RingHeader, RingReader
from evenpace.respond.strategies import Estimate, MicroBatchOffer, PositionOffer
from evenpace.tap.inject.evenpace_tap import layout

MOST_BYTES = 8 << 20  # of an offer
MOST_RANKS = 1 << 17


@dataclass(frozen=True, slots=True)
class Offers:
    """What a loop can do, if anything."""

    microbatches: MicroBatchOffer | None = None
    positions: PositionOffer | None = None


def read_offers(ring: Path) -> Offers:
    """Return what the loop of the worker with that ring offers; nothing where there is no sound offer."""
    try:
        with ring.with_suffix(layout.OFFER_SUFFIX).open("rb") as file:
            said = json.loads(file.read(MOST_BYTES))
        if not isinstance(said, dict):
            return Offers()
        return Offers(_microbatches(said.get("microbatches")), _positions(said.get("positions")))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Offers()


def _microbatches(said: object) -> MicroBatchOffer | None:
    if not isinstance(said, dict):
        return None
    replicas = tuple(tuple(int(rank) for rank in ranks) for ranks in said["replicas"][:MOST_RANKS])
    offer = MicroBatchOffer(int(said["total"]), replicas, int(said.get("least", 1)))
    return offer if replicas and offer.least >= 1 and offer.total >= offer.least * len(replicas) else None


def _positions(said: object) -> PositionOffer | None:
    if not isinstance(said, dict):
        return None
    ranks = tuple(int(position) for position in said["ranks"][:MOST_RANKS])
    sizes = tuple(int(size) for size in said["bytes"][:MOST_RANKS])
    micro_batches = max(0, int(said.get("micro_batches", 0)))
    offer = PositionOffer(int(said["pipeline"]), int(said["data"]), ranks, sizes, micro_batches)
    sound = sorted(ranks) == list(range(offer.pipeline * offer.data)) and len(sizes) == offer.pipeline
    return offer if sound else None


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


def announce(ring: Path, version: int, plan: Estimate) -> None:
    """Hand a plan to rank 0, whose ring that is; raises OSError."""
    said: dict[str, object] = {"version": version}
    if plan.counts:
        said["counts"] = list(plan.counts)
    if plan.positions:
        said["positions"] = list(plan.positions)
    target = ring.with_suffix(layout.PLAN_SUFFIX)
    aside = target.with_name(f"{target.name}.new")
    aside.write_text(json.dumps(said))
    os.replace(aside, target)  # noqa: PTH105  a rename that replaces
