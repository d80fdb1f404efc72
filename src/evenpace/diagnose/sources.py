"""Find the logs that were asked for, and open them: files, folders, patterns, compressed ones, a run.

Nothing is unpacked to disk and nothing is read whole. What cannot be read is told, not dropped silently.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from evenpace.errors import Problem

STDIN = "-"
OWN = frozenset(("MANIFEST.txt", "answer.json", "answer.md"))  # what `--redact` puts beside the logs
_SUBSTITUTED = ("/dev/fd/", "/proc/self/fd/")  # what a shell puts in the place of <(command)
MOST_FILES = 20_000
LARGEST_UNPACKED = 64 << 30
RATIO, FREE_RATIO = 1000, 1 << 30  # a file that unpacks to more than 1 GiB at over 1000 to 1 is a bomb
_SLURM = re.compile(r"%\d{0,2}([%AaJjNnstuxbhk])")
_SKIPPED_ENDS = (
    *(
        ".pt",
        ".pth",
        ".bin",
        ".safetensors",
        ".distcp",
        ".npy",
        ".npz",
        ".zip",
        ".whl",
        ".so",
        ".pyc",
        ".ring",
    ),
    *(".png", ".jpg", ".jpeg", ".pdf", ".html", ".tar", ".tgz", ".ckpt", ".onnx", ".arrow", ".parquet"),
)


class Log(Protocol):
    """What a log is read from: bytes, in order; a plain file can be read from elsewhere too."""

    def read(self, size: int = -1, /) -> bytes:
        """Read up to `size` bytes."""
        ...

    def seek(self, offset: int, /) -> int:
        """Go to a byte of the file."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: Any) -> None: ...


class Damaged(Exception):
    """Say why a file could not be read to its end."""


@dataclass(slots=True)
class Inputs:
    """Hold the files to read, in order of their names, and what was left out: reason → names."""

    files: list[Path] = field(default_factory=list)
    skipped: dict[str, list[str]] = field(default_factory=dict)

    def skip(self, reason: str, name: str) -> None:
        """Remember that a file is not read, for one of the reasons `answer-skipped-…` of the phrases."""
        self.skipped.setdefault(reason, []).append(name)


def find(paths: Iterable[str]) -> Inputs:
    """Return the logs behind paths, folders and Slurm output patterns (`%x-%j-%N.out`); raises Problem."""
    inputs = Inputs()
    seen: set[str] = set()
    for given in paths:
        if not given:
            raise Problem("a name of a log is empty; check the variable that should hold it")
        if given == STDIN and sys.stdin is None:
            raise Problem("standard input is closed; name a log instead of -")
        for path in [Path(STDIN)] if given == STDIN else _expand(given, inputs):
            if (key := os.path.realpath(path)) in seen:
                continue
            seen.add(key)
            if len(inputs.files) < MOST_FILES:
                inputs.files.append(path)
            else:
                inputs.skip("too-many", str(path))
    return inputs


def _expand(given: str, inputs: Inputs) -> Iterator[Path]:
    path = Path(given)
    try:
        if path.is_dir():
            yield from _within(path)
        elif path.exists() or path.is_symlink():
            yield path
        elif _SLURM.search(given) or any(mark in given for mark in "*?["):
            yield from _matching(given, inputs)
        else:
            raise Problem(f"there is no {given}; name a log, a folder of logs, or - for standard input")
    except OSError as error:
        reason = os.strerror(error.errno or errno.EIO)
        raise Problem(f"cannot look at {given}: {reason}; check the name") from None


def _within(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that can be logs, deeper ones too, without following links to folders.

    Of the folder of an `evenpace run` those are the logs of its nodes.
    """
    found = 0
    if (folder / "events.jsonl").is_file() and (folder / "logs").is_dir():
        folder = folder / "logs"
    os.scandir(folder).close()  # raises where the folder itself may not be read
    denied: list[Path] = []
    for here, folders, names in os.walk(folder, onerror=lambda error: denied.append(Path(error.filename))):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        own = OWN if set(names) >= OWN else frozenset()
        for name in sorted(set(names) - own):
            if not name.lower().endswith(_SKIPPED_ENDS) and not name.startswith("."):
                found += 1
                yield Path(here, name)
    yield from denied  # reading them tells that they are unreadable
    if not found and not denied:
        raise Problem(f"there is no log in {folder}; name a folder that holds some")


def _matching(given: str, inputs: Inputs) -> list[Path]:
    """Return what a pattern stands for; of several jobs the one that wrote last, the others are left out."""
    pattern = _SLURM.sub("*", given)
    base = Path(pattern).anchor or "."
    relative = pattern[len(base) :] if Path(pattern).is_absolute() else pattern
    form = re.compile(_form(given) if "%" in given else "")
    found = sorted(path for path in Path(base).glob(relative) if path.is_file() and form.search(str(path)))
    if not found:
        raise Problem(f"nothing matches {given}; the pattern stands for {pattern}")
    jobs = {path: form.search(str(path)).groupdict().get("job") for path in found}  # type: ignore[union-attr]
    latest = jobs[max(found, key=lambda path: path.stat().st_mtime)]
    for path in found:
        if jobs[path] != latest:
            inputs.skip("other-jobs", str(path))
    return [path for path in found if jobs[path] == latest]


def _form(given: str) -> str:
    """Return what a name looks like that a pattern of Slurm's stands for; `job` is the job's number."""
    form, end = "", 0
    for field_ in _SLURM.finditer(given):
        name = field_[1] in "jAJ" and "?P<job>" not in form
        number = "(?P<job>[0-9]+)" if name else "[0-9]+" if field_[1] in "ajAJstn" else "[^/]+"
        form += re.escape(given[end : field_.start()]) + number
        end = field_.end()
    return f"{form}{re.escape(given[end:])}$"


def open_log(path: Path) -> Log:
    """Open a log to read bytes, unpacking `.gz` and `.zst` as it goes; raises Damaged or OSError."""
    if str(path) == STDIN:
        return sys.stdin.buffer
    if str(path).startswith(_SUBSTITUTED) and path.is_fifo():
        return path.open("rb")
    if not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    raw = _opened(path)
    try:
        start = raw.peek(4)[:4]
    except OSError:
        raw.close()
        raise
    if start[:2] == b"\x1f\x8b":
        return _Unpacked(gzip.GzipFile(fileobj=raw), raw)
    if start == b"\x28\xb5\x2f\xfd":
        return _Unpacked(_zstd(raw), raw)
    return raw


class _Patient(io.BufferedReader):
    """Read a file that ends where it has nothing to say for now."""

    def read(self, size: int | None = -1) -> bytes:
        """Read up to `size` bytes."""
        return super().read(size) or b""


def _opened(path: Path) -> _Patient:
    file = _Patient(io.FileIO(path))
    os.set_blocking(file.fileno(), False)  # the kernel's own log, for one, may never say anything
    return file


def is_packed(path: Path) -> bool:
    """Tell whether a file is compressed, so that it can be read from its start only."""
    with _opened(path) as file:
        start = file.read(4)
    return start[:2] == b"\x1f\x8b" or start == b"\x28\xb5\x2f\xfd"


def _zstd(raw: _Patient) -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdFile(raw)


class _Unpacked:
    """Read an unpacked stream, up to the point where it turns out to be damaged or a bomb."""

    def __init__(self, stream: Any, raw: _Patient) -> None:
        self._stream, self._raw, self._read = stream, raw, 0

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes; raises Damaged."""
        try:
            data: bytes = self._stream.read(size)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            raise Damaged(f"the compressed data is damaged ({error})") from None
        except Exception as error:  # zstd's own error type differs between its two homes
            raise Damaged(f"the compressed data is damaged ({error})") from None
        self._read += len(data)
        packed = max(self._raw.tell(), 1)
        if self._read > LARGEST_UNPACKED or (self._read > FREE_RATIO and self._read / packed > RATIO):
            raise Damaged("it unpacks to far more than a log would")
        return data

    def seek(self, _offset: int) -> int:
        """Refuse: a compressed file is read from its start."""
        raise OSError(errno.ESPIPE, "a compressed log is read in order")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()
