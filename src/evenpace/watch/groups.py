"""Process groups of a job: a worker knows one by a pointer, the job by its name and its ranks."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenpace.collect.job.rings import Group


@dataclass(slots=True)
class GroupBook:
    """Give every group of the job one small number, the same for all of its members."""

    groups: list[Group] = field(default_factory=list)
    _numbers: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)

    def number(self, group: Group) -> int:
        """Return the group's number, making one at first sight."""
        key = (group.name, tuple(group.ranks))
        if key not in self._numbers:
            self._numbers[key] = len(self.groups)
            self.groups.append(group)
        return self._numbers[key]

    def unknown(self, rank: int, pointer: int) -> int:
        """Return a number for a group that a worker has not announced: nobody else is known to be in it."""
        return self.number(Group(name=f"unannounced-{rank}-{pointer:x}", ranks=(rank,)))

    def name(self, number: int) -> str:
        """Return a name for people: `world`, or the group's own name with its ranks."""
        group = self.groups[number]
        widest = max((len(other.ranks) for other in self.groups), default=0)
        if len(group.ranks) == widest and number == self._first_of(widest):
            return "world"
        shown = ",".join(map(str, group.ranks[:8])) + (",…" if len(group.ranks) > 8 else "")
        return f"{group.name} [{shown}]"

    def _first_of(self, size: int) -> int:
        return next(number for number, group in enumerate(self.groups) if len(group.ranks) == size)
