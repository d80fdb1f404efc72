"""A folder of torch.distributed.checkpoint: .metadata (a pickle, never executed) and *.distcp files.

Each item of a .distcp file is an archive of torch.save with CRCs. `.metadata` is written last and names each
item's file, offset and length, which must cover the files exactly.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from evenpace.respond.checkpoints.files import Damaged, Window, inside, open_file, read_small
from evenpace.respond.checkpoints.inertpickle import Thing, read
from evenpace.respond.checkpoints.zips import prove

SINGLE = False
NAME = ".metadata"
MAX_METADATA = 512 << 20  # bytes
ZIP = b"PK\3\4"
Item = tuple[int, int]  # offset, length


def matches(path: Path) -> bool:
    """Tell by .metadata, or by .distcp files that still miss it."""
    return (path / NAME).is_file() or next(path.glob("*.distcp"), None) is not None


def step(path: Path) -> int | None:  # noqa: ARG001  the format does not say; the folder's name may
    """Return None."""
    return None


def damage(path: Path) -> str | None:
    """Check that all items are there, and their CRCs where they have some."""
    if not (path / NAME).is_file():
        return f"{NAME} is missing: it was not written completely"
    try:
        for name, items in stored(path).items():
            with open_file(inside(path, name)) as file:
                _check_file(file, name, sorted(items))
    except Damaged as reason:
        return str(reason)
    return None


def stored(path: Path) -> dict[str, list[Item]]:
    """Return the items of each file, as .metadata names them; raises Damaged."""
    metadata = read(read_small(path / NAME, MAX_METADATA))
    data = metadata.state.get("storage_data") if _is_state(metadata) else None
    if not isinstance(data, dict) or not data:
        raise Damaged(f"{NAME} names no stored items")
    items: dict[str, list[Item]] = {}
    for info in data.values():
        name, item = _item(info)
        items.setdefault(name, []).append(item)
    return items


def _is_state(value: Any) -> bool:
    return isinstance(value, Thing) and isinstance(value.state, dict)


def _item(info: Any) -> tuple[str, Item]:
    state = info.state if _is_state(info) else {}
    name, offset, length = (state.get(key) for key in ("relative_path", "offset", "length"))
    if not (isinstance(name, str) and isinstance(offset, int) and isinstance(length, int)):
        raise Damaged(f"{NAME} has an item without file, offset and length")
    if offset < 0 or length <= 0:
        raise Damaged(f"{NAME} has an item with offset {offset} and length {length}")
    return name, (offset, length)


def _check_file(file: BinaryIO, name: str, items: list[Item]) -> None:
    """Check the items of one file: they must cover it without gap or overlap, and be sound."""
    size = file.seek(0, 2)
    place = 0
    for offset, length in items:
        if offset != place:
            raise Damaged(f"{name[:100]}: the items do not follow each other at byte {place}")
        place = offset + length
    if place != size:
        raise Damaged(f"{name[:100]} has {size} bytes instead of {place}")
    if any(_begins_as_zip(file, offset) for offset, _ in items):
        for offset, length in items:
            prove(Window(file, offset, length))


def _begins_as_zip(file: BinaryIO, offset: int) -> bool:
    file.seek(offset)
    return file.read(len(ZIP)) == ZIP
