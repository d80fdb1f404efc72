"""What can be done about a slow job, from cheap to dear; a module or folder each, behind one protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

Edge = tuple[int, int]  # global ranks: source, target


class Cause(StrEnum):
    """What is slow."""

    COMPUTE = "compute"
    LINK = "link"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Trouble:
    """What slows the job, as far as it is known; times in seconds.

    `healthy` and `now` are iteration times, `now` without any strategy in force. `factors` says how many
    times its healthy own time a slow rank takes now; `links` how many times its healthy transfer a slow link.
    """

    cause: Cause
    healthy: float
    now: float
    factors: Mapping[int, float] = field(default_factory=dict)
    links: Mapping[Edge, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MicroBatchOffer:
    """What a loop says that can split its micro-batches: `total` a step, `least` of a replica, its ranks."""

    total: int
    replicas: tuple[tuple[int, ...], ...]
    least: int = 1


@dataclass(frozen=True, slots=True)
class PositionOffer:
    """What a loop says that can move its stages: position `stage * data + replica`, by rank.

    `bytes` is what a rank of each stage has to move: parameters and optimizer state. `micro_batches` are
    those of a pipeline in a step, 0 where that is not known.
    """

    pipeline: int
    data: int
    ranks: tuple[int, ...]
    bytes: tuple[int, ...]
    micro_batches: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """What strategies know of the running job; seconds.

    `micro_batch` is each rank's own time for one micro-batch now, `counts` the micro-batches by replica that
    are in force, `iteration` what one takes now under all that is in force (None: nothing is). `traffic` is
    the bytes that each link carries in an iteration. `restart` is what starting again costs by the record of
    this run (or an estimate), with the steps to repeat.
    """

    ranks: tuple[int, ...]
    nodes: Mapping[int, str]
    own: Mapping[int, float] = field(default_factory=dict)
    micro_batch: Mapping[int, float] = field(default_factory=dict)
    counts: tuple[int, ...] = ()
    iteration: float | None = None
    traffic: Mapping[Edge, int] = field(default_factory=dict)
    microbatches: MicroBatchOffer | None = None
    positions: PositionOffer | None = None
    restart: float | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a strategy would cost once (with taking it back), and the iteration time under it; seconds.

    `counts` or `positions` is the plan to announce, as in `events.Adapted`.
    """

    cost: float
    iteration: float
    counts: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()


class Strategy(Protocol):
    """One thing that can be done. Pure: applying it is announcing the estimate's plan."""

    name: str

    def estimate(self, trouble: Trouble, job: Job) -> Estimate | None:
        """Return what it would cost and bring; None where it cannot help."""

    def healthy(self, job: Job) -> Estimate | None:
        """Return the plan that takes it back; None where nothing has to be."""
