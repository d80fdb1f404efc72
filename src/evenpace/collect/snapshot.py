"""What was read of a cluster: the one form that live sources, dumps and saved audits give to the checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Why(StrEnum):
    """Why something could not be read."""

    FORBIDDEN = "forbidden"  # a right is missing
    ABSENT = "absent"  # this cluster does not have it, so there is nothing to read
    MISSING = "missing"  # the dump does not hold it
    TIMEOUT = "timeout"
    FAILED = "failed"  # no answer, an answer of 500, a command that failed
    MALFORMED = "malformed"
    TOO_LARGE = "too-large"


@dataclass(frozen=True, slots=True)
class Unread:
    """Say why something could not be read: `what` is the request itself, such as `list pods`."""

    why: Why
    what: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Hold what was read of one cluster.

    `kinds` maps a kind to what was read of it. Kinds of Kubernetes are named as kubectl does (`nodes`,
    `jobsets.jobset.x-k8s.io`) and hold tuples of plain dictionaries; `collect.slurm.model` says which kinds
    Slurm has and what they hold. `unread` holds the kinds that could not be read, `partly` those of which
    a part was read: enough to judge each object, not to say what there is none of. `taken` is what all checks
    take for now. `derived` is what several checks work out of it alike.
    """

    family: str
    source: str
    taken: datetime
    kinds: Mapping[str, Any]
    unread: Mapping[str, Unread] = field(default_factory=dict)
    version: str | None = None
    partly: Mapping[str, Unread] = field(default_factory=dict)
    derived: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def reason(self, kind: str) -> Unread | None:
        """Return why `kind` was not read; None where it was."""
        if kind in self.kinds:
            return None
        return self.unread.get(kind) or Unread(Why.MISSING, kind)
