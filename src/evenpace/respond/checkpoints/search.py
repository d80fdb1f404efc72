"""Find the newest valid checkpoint in a folder, and say why newer ones were passed over."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evenpace.respond.checkpoints.formats import Format, format_of

SET_ASIDE = ".evenpace-set-aside"
TEMPORARY = re.compile(
    r"^(?:tmp|temp)[._-]|[._-](?:tmp|temp|partial|part|incomplete)(?:[._-]|$)|~$", re.IGNORECASE
)
STEP = re.compile(r"(?:step|iter|iteration|epoch)[-_=]?(\d{1,18})", re.IGNORECASE)
NUMBER = re.compile(r"\d{1,18}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A valid checkpoint: its path (of the first file where it has several) and step, if that is known."""

    path: Path
    step: int | None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A checkpoint that was passed over. `damaged`: proven so, not merely of a kind that we cannot prove."""

    path: Path
    reason: str
    damaged: bool = True


@dataclass(frozen=True, slots=True)
class _Candidate:
    paths: tuple[Path, ...]
    kind: Format | None
    step: int | None
    modified: float

    def reason(self) -> tuple[str, bool] | None:
        """Return why it cannot be used and whether it is damaged; None where it is valid."""
        if self.kind is None:
            return (
                "it has no manifest.json and no .metadata, as others have: it was not written completely",
                True,
            )
        for path in self.paths:
            if found := self.kind.damage(path):
                return (found if len(self.paths) == 1 else f"{path.name}: {found}"), not _legacy(path)
        return None


def newest_valid(folder: Path) -> tuple[Checkpoint | None, list[Skipped]]:
    """Return the newest valid checkpoint and what was passed over for it, newest first.

    Newest is by step where all have one, else by time of modification. Reads as little as it can: older
    checkpoints than the answer are not looked at. A folder that cannot be read has none.
    """
    candidates = _candidates(folder)
    skipped: list[Skipped] = []
    for candidate in candidates:
        reason = candidate.reason()
        if reason is None:
            return Checkpoint(candidate.paths[0], candidate.step), skipped
        skipped += [Skipped(path, *reason) for path in candidate.paths]
    return None, skipped


def _candidates(folder: Path) -> list[_Candidate]:
    """Return all checkpoints of a folder, newest first. The folder may be one itself."""
    entries = [
        path for path in _entries(folder) if not path.name.startswith(".") and not TEMPORARY.search(path.name)
    ]
    own = format_of(folder)
    if own and not own.SINGLE:
        return [_candidate([folder], own)]
    found = [_candidate(paths, kind) for paths, kind in _grouped(entries)]
    alike = {_shape(c.paths[0]) for c in found if c.kind and not c.kind.SINGLE and c.step is not None}
    found = [c for c in found if c.kind or _shape(c.paths[0]) in alike]
    by_step = all(candidate.step is not None for candidate in found)
    return sorted(
        found, key=lambda c: (c.step if by_step and c.step is not None else 0, c.modified), reverse=True
    )


def _entries(folder: Path) -> list[Path]:
    """Return a folder's entries in order, without links: what they point to inside is an entry itself."""
    try:
        return sorted(path for path in folder.iterdir() if not path.is_symlink())
    except OSError:
        return []


def _grouped(entries: Iterable[Path]) -> list[tuple[list[Path], Format | None]]:
    """Return each folder alone, and single files of one step together (as a file a rank)."""
    groups: dict[object, tuple[list[Path], Format | None]] = {}
    for path in entries:
        kind = format_of(path)
        if kind is None and not path.is_dir():
            continue
        number = _named_step(path)
        key = number if kind and kind.SINGLE and number is not None else path
        groups.setdefault(key, ([], kind))[0].append(path)
    return list(groups.values())


def _candidate(paths: list[Path], kind: Format | None) -> _Candidate:
    recorded = kind.step(paths[0]) if kind else None
    step = recorded if recorded is not None else _named_step(paths[0])
    return _Candidate(tuple(paths), kind, step, max(_modified(path) for path in paths))


def _named_step(path: Path) -> int | None:
    """Return the number after `step`, `iter` or `epoch` in a name, else the last number, else None."""
    name = path.stem if path.is_file() else path.name
    numbers = STEP.findall(name) or NUMBER.findall(name)
    return int(numbers[-1]) if numbers else None


def _shape(path: Path) -> str:
    """Return a name without its numbers: checkpoints of one run are named alike."""
    return NUMBER.sub("#", path.name)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _legacy(path: Path) -> bool:
    """Tell whether a file is a bare pickle, as torch.save wrote before 1.6: nothing proves it either way."""
    try:
        with path.open("rb") as file:
            return file.read(1) == b"\x80"
    except OSError:
        return False
