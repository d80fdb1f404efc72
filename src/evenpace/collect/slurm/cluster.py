"""A Slurm cluster as a check sees it: what was read of the kinds that the check declared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from evenpace.collect.facts import Facts
from evenpace.collect.slurm.model import Job, Node, Partition, PastJob, Reservation, Script

_DAYS = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,6})(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?")
_NUMBER = re.compile(r"\[[0-9]{1,3}\]$")
_UNLIMITED = ("INFINITE", "UNLIMITED")
_UNSET = ("", "(null)", "n/a", "none")


class Slurm(Facts):
    """Give a check what was read; a kind that its check.toml does not name raises LookupError."""

    @cached_property
    def config(self) -> Settings:
        """Return the settings."""
        return Settings(self._read("config", {}))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes."""
        return tuple(self._read("nodes", ()))

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Return the partitions."""
        return tuple(self._read("partitions", ()))

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Return the jobs that wait or run."""
        return tuple(self._read("jobs", ()))

    @property
    def reservations(self) -> tuple[Reservation, ...]:
        """Return the reservations."""
        return tuple(self._read("reservations", ()))

    @property
    def accounting(self) -> tuple[PastJob, ...]:
        """Return the jobs of the accounting, each run by itself."""
        return tuple(self._read("accounting", ()))

    @property
    def scripts(self) -> tuple[Script, ...]:
        """Return the texts of the programs that Slurm starts."""
        return tuple(self._read("scripts", ()))

    def written(self, kind: str) -> str:
        """Return a kind that is kept as text (`topology`, `gres.conf`)."""
        return str(self._read(kind, ""))


class Settings:
    """Hold the settings of `scontrol show config`; names are looked up whatever their case.

    What is numbered, `SlurmctldHost[0]` or since 24.05 `Prolog[0]`, is one list under its plain name.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values: dict[str, str] = {}
        for key, value in values.items():
            name = str(key).casefold()
            plain = _NUMBER.sub("", name)
            listed = plain != name and plain in self._values
            self._values[plain] = f"{self._values[plain]},{value}" if listed else str(value)

    def __contains__(self, key: str) -> bool:
        return key.casefold() in self._values

    def text(self, key: str) -> str:
        """Return a setting as it is, empty where it is not set or `(null)`."""
        value = self._values.get(key.casefold(), "").strip()
        return "" if value.casefold() in _UNSET else value

    def words(self, key: str) -> tuple[str, ...]:
        """Return the members of a setting that is a list with commas."""
        return tuple(word.strip() for word in self.text(key).split(",") if word.strip())

    def seconds(self, key: str) -> float | None:
        """Return a span of time; infinity for no limit, None where it is not set or not a span."""
        return seconds(self.text(key))


def seconds(value: str) -> float | None:
    """Return `300 sec`, `5 min`, `1-12:00:00`, `10:00` or `UNLIMITED` in seconds; None for other texts.

    A number alone is seconds, as `scontrol show config` means it.
    """
    value = value[:40].strip()
    if value.upper() in _UNLIMITED:
        return float("inf")
    count, _, unit = value.partition(" ")
    if count.isascii() and count.isdigit():
        return float(count) * (60 if unit.startswith("min") else 3600 if unit.startswith("hour") else 1)
    match = _DAYS.fullmatch(value)
    if match is None:
        return None
    days, first, second, third = (int(part) if part else None for part in match.groups())
    if days is not None:
        return days * 86400.0 + (first or 0) * 3600 + (second or 0) * 60 + (third or 0)
    parts = [part for part in (first, second, third) if part is not None]
    return float(sum(part * 60**power for power, part in enumerate(reversed(parts))))
