"""What a detector of slow jobs says."""

from __future__ import annotations

from dataclasses import dataclass

from evenpace.detect.attribution import SlowVerdict


@dataclass(frozen=True, slots=True)
class Onset:
    """The job became slow at `iteration` (or a rank always was: `from_start`), as known at `decided`.

    `certainty` (0 to 1) is that of the iteration; `ratio` the iteration time to the healthy level, or the
    rank's own time to its peers'.
    """

    iteration: int
    decided: int
    verdict: SlowVerdict
    ratio: float
    certainty: float = 1.0
    from_start: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """A slow job's verdict changed, or it goes at another pace, as known at `decided`.

    `ratio` is that of the latest stretch to the healthy level; `since` is where the pace changed, if it did.
    """

    iteration: int  # of onset
    decided: int
    verdict: SlowVerdict
    ratio: float
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Relief:
    """The slowness was over from `iteration` on."""

    iteration: int
    decided: int
    from_start: bool = False


SlowEvent = Onset | Update | Relief
