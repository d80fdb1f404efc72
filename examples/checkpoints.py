"""Checkpoints that are either complete or not there: written aside, flushed to disk, then renamed.

A checkpoint is a folder `step-00000020`; its manifest.json lists each file with size and SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path


def aside(folder: Path, step: int) -> Path:
    """Return the folder to write the files of a checkpoint to before `publish`; left-overs are removed."""
    temporary = folder / f".step-{step:08d}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    return temporary


def publish(temporary: Path, step: int) -> Path:
    """Add the manifest, flush everything, and give the folder its name."""
    files = {path.name: _describe(path) for path in sorted(temporary.iterdir())}
    manifest = temporary / "manifest.json"
    manifest.write_text(json.dumps({"step": step, "files": files}, indent=1))
    _flush(manifest)
    _flush(temporary)
    final = temporary.with_name(f"step-{step:08d}")
    if final.exists():
        shutil.rmtree(final)
    temporary.rename(final)
    _flush(final.parent)
    return final


def newest(folder: Path) -> tuple[int, Path] | None:
    """Return step and folder of the newest checkpoint whose files are all there, or None."""
    for path in sorted(folder.glob("step-*"), reverse=True):
        try:
            manifest = json.loads((path / "manifest.json").read_text())
            if all((path / name).stat().st_size == file["bytes"] for name, file in manifest["files"].items()):
                return manifest["step"], path
        except (OSError, ValueError, KeyError):
            continue
    return None


def _describe(path: Path) -> dict[str, object]:
    _flush(path)
    content = path.read_bytes()
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
