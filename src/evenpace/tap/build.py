"""Compile the native part, once a source and machine, into a folder of the user's own."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parent / "native" / "tap.c"
_FLAGS = ("-O2", "-std=gnu11", "-shared", "-fPIC", "-fexceptions", "-fvisibility=hidden")
_SECONDS = 60


class Native(NamedTuple):
    """The library's path, or why there is none."""

    path: Path | None
    why_not: str = ""


def native(cache: Path | None = None) -> Native:
    """Return the compiled native part, compiling it where that has not been done yet."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return Native(None, f"it is for x86-64 Linux, and this is {platform.machine()} {platform.system()}")
    try:
        folder = _private(cache if cache is not None else _cache())
        if set(str(folder)) & set(": "):  # they separate the entries of LD_PRELOAD
            return Native(None, f"it cannot be preloaded from {folder}")
        digest = hashlib.sha256(SOURCE.read_bytes() + " ".join(_FLAGS).encode()).hexdigest()[:16]
        library = folder / f"tap-{platform.machine()}-{digest}.so"
        return Native(library) if library.is_file() else _compile(library)
    except OSError as error:
        return Native(None, f"it cannot be kept: {error}")


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "evenpace"


def _private(folder: Path) -> Path:
    """Make the folder for this user alone: what lies in it is loaded into every worker. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise PermissionError(f"{folder} can be written by others")
    return folder


def _compile(library: Path) -> Native:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return Native(None, "there is no C compiler (cc, gcc or clang)")
    handle, name = tempfile.mkstemp(suffix=".so", dir=library.parent)
    os.close(handle)
    try:
        command = [compiler, *_FLAGS, "-o", name, str(SOURCE), "-ldl", "-pthread"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        if done.returncode == 0:
            Path(name).replace(library)
            return Native(library)
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return Native(None, f"{compiler} failed: {lines[0]}")
    except subprocess.TimeoutExpired:
        return Native(None, f"{compiler} took longer than {_SECONDS} s")
    finally:
        Path(name).unlink(missing_ok=True)
