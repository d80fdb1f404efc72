"""What diagnosis works on: lines with the process that printed them, and what was seen in them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from evenpace.diagnose.roster import Roster

Which = int | tuple[int, ...]
Named = str | tuple[str, ...]
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Identity:
    """Say which process, GPU or host: a value, several, or None where the logs do not tell.

    `rank` is the global rank; a rank inside a group is never one. `gpu` is as printed: a PCI address, an
    index, a UUID or a serial number.
    """

    rank: Which | None = None
    local_rank: Which | None = None
    host: Named | None = None
    gpu: Named | None = None
    pid: Which | None = None

    def __bool__(self) -> bool:
        return not (
            self.rank is None
            and self.local_rank is None
            and self.host is None
            and self.gpu is None
            and self.pid is None
        )

    def or_else(self, other: Identity) -> Identity:
        """Return this identity with what it lacks taken from `other`."""
        if not other or self is other:
            return self
        if not self:
            return other
        return Identity(
            other.rank if self.rank is None else self.rank,
            other.local_rank if self.local_rank is None else self.local_rank,
            other.host if self.host is None else self.host,
            other.gpu if self.gpu is None else self.gpu,
            other.pid if self.pid is None else self.pid,
        )


NOBODY = Identity()


@dataclass(frozen=True, slots=True)
class Line:
    """One record of a log, cleaned: no colours, wrapped lines joined, records that ran together split.

    `number` is 1-based in its file. `time` is in seconds: since the epoch where `dated`, else since a start
    that only lines of the same file share. `printer` is whoever wrote the line, as far as the line says.
    """

    source: str
    number: int
    text: str
    printer: Identity = NOBODY
    time: float | None = None
    dated: bool = False
    format: str = "plain"


@dataclass(frozen=True, slots=True)
class Series:
    """One column of the iteration lines of a file: `values[i]` at `steps[i]`, read from `lines[i]`.

    `name` is the column: `iteration-seconds`, `tokens-per-second`, `samples-per-second`, `tflops`, `loss`,
    `grad-norm`, `loss-scale`, `data-seconds`. `printer` is who wrote the lines, where they say.
    """

    source: str
    name: str
    unit: str
    steps: tuple[int, ...]
    values: tuple[float, ...]
    lines: tuple[Line, ...]
    printer: Identity = NOBODY


@dataclass(frozen=True, slots=True)
class Sighting:
    """Say that a signature was seen: in which lines, whom it accuses, and what its patterns captured.

    The first line is the one that fired. `certainty` is the signature's own unless a judge knows better.
    """

    signature: str
    lines: tuple[Line, ...]
    culprit: Identity = NOBODY
    victims: tuple[Identity, ...] = ()
    captures: Mapping[str, str] = field(default_factory=dict)
    certainty: float | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class Source:
    """One log file as read: its size in bytes and lines, how much was only scanned, and when it ends.

    `first` and `last` are the times of its first and last dated lines (seconds since the epoch).
    """

    name: str
    size: int = 0
    lines: int = 0
    scanned_only: int = 0
    first: float | None = None
    last: float | None = None


@dataclass(frozen=True)
class Case:
    """All that was read of one failure: its files, the lines that may matter, and the series in them.

    Lines keep the order of their files. Of a large file only the lines around what was recognised, what looks
    like an error, its head and its tail are here.
    """

    sources: tuple[Source, ...]
    lines: tuple[Line, ...]
    series: tuple[Series, ...] = ()
    dumps: tuple[object, ...] = ()
    expected: tuple[float, float, str] | None = None

    def lines_with(self, pattern: Any) -> list[Line]:
        """Return the lines in which a pattern of RE2 is found, in their order; fast if there are few.

        The lines stand in one text: `^` and `$` need `(?m)`; what can match a line feed may find too many.
        """
        text, begins = self._text
        found, at = [], 0
        while hit := pattern.search(text, at):
            number = bisect_right(begins, hit.start()) - 1
            if number >= len(self.lines):
                break
            found.append(self.lines[number])
            at = begins[number + 1]
        return found

    def found(self, pattern: re.Pattern[bytes]) -> list[Any]:
        """Return what a pattern of bytes finds in the lines, as `findall` does."""
        return pattern.findall(self._text[0])

    def once(self, make: Callable[[Case], _Made]) -> _Made:
        """Return what a function says of this case; it is called once, whoever asks."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast("_Made", self._made[make])

    @cached_property
    def _made(self) -> dict[Callable[[Case], object], object]:
        return {}

    @cached_property
    def by_source(self) -> dict[str, list[Line]]:
        """Return the lines of each file, in their order."""
        files: dict[str, list[Line]] = {}
        for line in self.lines:
            files.setdefault(line.source, []).append(line)
        return files

    @cached_property
    def _text(self) -> tuple[bytes, list[int]]:
        """Return all lines as one text, and where each begins in it."""
        encoded = [line.text.replace("\n", " ").encode("utf-8", "replace") + b"\n" for line in self.lines]
        return b"".join(encoded), list(accumulate(map(len, encoded), initial=0))

    @cached_property
    def roster(self) -> Roster:
        """Return who ran where, pieced together from the lines; once a case."""
        from evenpace.diagnose.formats.launchers import exits_in
        from evenpace.diagnose.roster import roster_of

        return roster_of(self.lines, self.once(exits_in))
