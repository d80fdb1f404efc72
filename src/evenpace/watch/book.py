"""Number the findings of an incarnation and remember which trouble is still open."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenpace.findings import Finding
from evenpace.watch.events import Event, FindingClosed, FindingRaised, stamp


@dataclass(slots=True)
class FindingBook:
    """Number the findings of an incarnation, and keep the one that is open of each kind of trouble."""

    incarnation: int

    _open: dict[str, int] = field(default_factory=dict)
    _count: int = 0

    def is_open(self, trouble: str) -> bool:
        """Tell whether a finding of this trouble stands."""
        return trouble in self._open

    def say(self, trouble: str, finding: Finding, now: float, iteration: int | None = None) -> FindingRaised:
        """Raise a finding, or replace the open one of the same trouble."""
        if trouble not in self._open:
            self._open[trouble] = self._count
            self._count += 1
        return FindingRaised(
            time=stamp(now),
            incarnation=self.incarnation,
            id=self._open[trouble],
            finding=finding,
            iteration=iteration,
        )

    def close(
        self, trouble: str, now: float, since: float, reason: str, iteration: int | None = None
    ) -> list[Event]:
        """Close the open finding of this trouble, if there is one."""
        if trouble not in self._open:
            return []
        return [
            FindingClosed(
                time=stamp(now),
                incarnation=self.incarnation,
                id=self._open.pop(trouble),
                reason=reason,
                since=stamp(since),
                iteration=iteration,
            )
        ]
