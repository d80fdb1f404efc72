"""What somebody decided to live with: a file of checks and subjects, each with a reason and an end.

[[suppress]]
check = "jobset_no_restarts"
subject = "JobSet/sandbox/*"
reason = "Runs in the sandbox are started by hand."
expires = 2027-03-31
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

import msgspec

from evenpace.checks.catalogue import find
from evenpace.errors import Problem
from evenpace.findings import Subject
from evenpace.report.audit.naming import matches

LARGEST = 1 << 20  # bytes
_Said = Annotated[str, msgspec.Meta(pattern=r"\S")]


class Suppression(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold one decision: gaps of `check` in what `subject` (a shell pattern) covers do not count.

    `expires` is the last day on which that holds, in UTC.
    """

    check: _Said
    subject: _Said
    reason: _Said
    expires: date


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    suppress: tuple[Suppression, ...] = ()


@dataclass(frozen=True, slots=True)
class Suppressions:
    """Hold the decisions of a file: those in force, and those whose day has passed."""

    valid: tuple[Suppression, ...] = ()
    expired: tuple[Suppression, ...] = ()

    def of(self, check: str, subject: Subject) -> Suppression | None:
        """Return the decision that covers a gap, None where there is none in force."""
        return next((one for one in self.valid if one.check == check and matches(one.subject, subject)), None)

    def whole(self, check: str) -> bool:
        """Tell whether every gap of a check is covered."""
        return any(one.check == check and one.subject == "*" for one in self.valid)


def read(path: Path, today: date) -> Suppressions:
    """Read a file; raises Problem, also for a check that there is not."""
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise Problem(f"{path} is larger than {LARGEST >> 20} MiB")
        held = msgspec.toml.decode(raw, type=_File).suppress
    except OSError as error:
        raise Problem(f"cannot read {path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        wanted = "each [[suppress]] has check, subject, reason and expires = YYYY-MM-DD"
        raise Problem(f"{path}: {' '.join(str(error).split())[:200]}; {wanted}") from error
    return split(_known(path, held), today)


def split(held: Iterable[Suppression], today: date) -> Suppressions:
    """Return decisions apart by whether they are still in force on `today`."""
    held = tuple(held)
    valid = tuple(one for one in held if one.expires >= today)
    return Suppressions(valid, tuple(one for one in held if one.expires < today))


def _known(path: Path, held: Iterable[Suppression]) -> tuple[Suppression, ...]:
    """Return decisions with the ids of their checks as the catalogue writes them."""
    try:
        return tuple(msgspec.structs.replace(one, check=find(one.check).id) for one in held)
    except Problem as problem:
        raise Problem(f"{path}: {problem}") from problem
