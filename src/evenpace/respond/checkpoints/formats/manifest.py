"""A folder with manifest.json: {"step": n, "files": {name: {"bytes": n, "sha256": hex}}}."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import msgspec

from evenpace.respond.checkpoints.files import Damaged, inside, open_file, read_small

SINGLE = False
NAME = "manifest.json"
MAX_MANIFEST = 64 << 20  # bytes
CHUNK = 1 << 20


class _File(msgspec.Struct):
    bytes: int
    sha256: str


class _Manifest(msgspec.Struct):
    step: int
    files: dict[str, _File]


def matches(path: Path) -> bool:
    """Tell whether the folder has a manifest."""
    return (path / NAME).is_file()


def step(path: Path) -> int | None:
    """Return the step that the manifest names."""
    try:
        return _read(path).step
    except Damaged:
        return None


def damage(path: Path) -> str | None:
    """Compare every file with its size and SHA-256."""
    try:
        manifest = _read(path)
        _check_step(path, manifest.step)
        for name, expected in manifest.files.items():
            _check_file(path, name, expected)
    except Damaged as reason:
        return str(reason)
    return None


def _read(path: Path) -> _Manifest:
    try:
        manifest = msgspec.json.decode(read_small(path / NAME, MAX_MANIFEST), type=_Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Damaged(f"{NAME} is damaged: {error}"[:300]) from error
    if not manifest.files or manifest.step < 0:
        raise Damaged(f"{NAME} names no files or no step")
    return manifest


def _check_step(path: Path, claimed: int) -> None:
    """Compare with a folder's name such as step-00000020: the manifest has no checksum of its own."""
    named = re.search(r"(?:step|iter)[-_]?(\d{1,18})$", path.name)
    if named and int(named.group(1)) != claimed:
        raise Damaged(f"{NAME} says step {claimed}, the folder's name {int(named.group(1))}")


def _check_file(folder: Path, name: str, expected: _File) -> None:
    path = inside(folder, name)
    if path.stat().st_size != expected.bytes:
        raise Damaged(f"{name[:100]} has {path.stat().st_size} bytes instead of {expected.bytes}")
    digest = hashlib.sha256()
    with open_file(path) as file:
        while data := file.read(CHUNK):
            digest.update(data)
    if digest.hexdigest() != expected.sha256:
        raise Damaged(f"{name[:100]} does not match its SHA-256")
