"""What two verdicts on a slow job say of each other."""

from __future__ import annotations

from evenpace.detect.attribution import MOST, SlowKind, SlowVerdict


def names(verdict: SlowVerdict) -> bool:
    """Tell whether it names a rank or a link."""
    return bool(verdict.culprits or verdict.link)


def bears_out(verdict: SlowVerdict, named: SlowVerdict) -> bool:
    """Tell whether those who were named before still grew most, and by most of what is lost now.

    A second cause that is none of a rank's own time, a slow link, must not be put down to them.
    """
    if verdict.kind is not SlowKind.UNCLEAR or not names(named):
        return False
    others = [excess for rank, excess in verdict.excess.items() if rank not in named.culprits]
    own = [verdict.excess.get(rank, 0.0) for rank in named.culprits]
    return not own or (min(own) > max([0.0, *others]) and max(own) >= MOST * verdict.lost)


def same(one: SlowVerdict, other: SlowVerdict) -> bool:
    """Tell whether two say the same, without the numbers."""
    return (one.kind, one.culprits, one.link) == (other.kind, other.culprits, other.link)
