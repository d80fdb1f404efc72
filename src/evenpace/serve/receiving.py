"""Logs that are sent to the site: spooled to files without a name, shown under the names they were given.

A name that comes with an upload is only ever shown, and read for the host or rank in it; the file itself has
none, so that nothing is left of it once it is closed, whatever happens to this process.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, TypeAlias, cast

from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from evenpace.serve.security import LARGEST_UPLOAD
from evenpace.serve.state import Refused
from evenpace.terms.spelling import clean

MOST_FILES = 512
MOST_PASTED = 8 << 20  # bytes of the field for text, which is kept in memory
LONGEST_NAME = 240
Spooled: TypeAlias = "SpooledTemporaryFile[bytes]"
LOGS, TEXT = "logs", "text"  # the fields of the form
_LIMITS = ("Too many", "Part exceeded")  # how the parser begins to speak of a limit


class Turned(Refused):
    """Say why logs are not taken, with the status of the answer."""

    def __init__(self, status: int, key: str, **details: object) -> None:
        super().__init__(f"logs-{key}", **details)
        self.status = status


class Upload:
    """One log that was sent: shown by its name, and read from the nameless file that it was spooled to.

    It stands where a path is expected, and offers of a path what reading needs.
    """

    def __init__(self, name: str, file: Spooled) -> None:
        file.rollover()
        file.flush()
        self._name = name
        self._place = Path(f"/proc/self/fd/{file.fileno()}")

    def __str__(self) -> str:
        return self._name

    def __fspath__(self) -> str:
        return str(self._place)

    def is_file(self) -> bool:
        """Tell that this is a regular file."""
        return self._place.is_file()

    def open(self, mode: str) -> BinaryIO:
        """Open it anew, to read from its start."""
        assert mode == "rb"  # noqa: S101
        return self._place.open("rb")


class Received:
    """Hold what was sent with a request until `close`: files in any field, and text in its own.

    Raises Turned for text in the field of files, which would else be passed over.
    """

    def __init__(self, form: FormData) -> None:
        self._files = [one for _, one in form.multi_items() if isinstance(one, UploadFile)]
        self._sent = [one for one in self._files if one.filename or one.size]
        self._text = "\n".join(one for one in form.getlist(TEXT) if isinstance(one, str))
        self._pasted: Spooled | None = None
        if any(isinstance(one, str) and one for one in form.getlist(LOGS)):
            self.close()
            raise Turned(422, "field")

    def __bool__(self) -> bool:
        return bool(self._sent or self._text.strip())

    def paths(self, pasted: str) -> list[Path]:
        """Return the logs for a reader of paths, by name, each of its own; `pasted` names the text."""
        named = [(shown(one.filename or ""), cast("Spooled", one.file)) for one in self._sent]
        if self._text.strip():
            self._pasted = SpooledTemporaryFile()  # noqa: SIM115  closed by `close`
            self._pasted.write(self._text.replace("\r\n", "\n").encode("utf-8", "replace"))
            named.append((pasted, self._pasted))
        named.sort(key=lambda one: one[0])
        names = distinct(name for name, _ in named)
        return [cast("Path", Upload(name, file)) for name, (_, file) in zip(names, named, strict=True)]

    def close(self) -> None:
        """Forget everything."""
        for one in self._files:
            one.file.close()
        if self._pasted is not None:
            self._pasted.close()


async def received(request: Request) -> Received:
    """Return the logs in a request's body; raises Turned, or ClientDisconnect when the client goes away."""
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or options.get(b"charset", b"utf-8").lower() != b"utf-8":
        raise Turned(415, "kind")
    parser = MultiPartParser(
        request.headers, request.stream(), max_files=MOST_FILES, max_fields=8, max_part_size=MOST_PASTED
    )
    try:
        return Received(await parser.parse())
    except MultiPartException as error:
        if error.message.startswith(_LIMITS):
            raise Turned(413, "beyond", **limits()) from error
        raise Turned(400, "form") from error
    except OSError as error:
        raise Turned(507, "room", reason=os.strerror(error.errno or 0)) from error


def limits() -> dict[str, object]:
    """Return how much is taken at once, for sentences."""
    return {"size": _megabytes(LARGEST_UPLOAD), "files": MOST_FILES, "text": _megabytes(MOST_PASTED)}


def _megabytes(count: int) -> str:
    return f"{count >> 20} MB"


def shown(name: str) -> str:
    """Return a name as it is shown: harmless, on one line, its end where it is long, never empty or `-`."""
    name = clean(name.replace("\n", " ")).strip()[-LONGEST_NAME:]
    return name if name.strip("-./\\ ") else "log"


def distinct(names: Iterable[str]) -> Iterator[str]:
    """Yield names, a number before those that were there before."""
    seen: set[str] = set()
    for name in names:
        number, one = 1, name
        while one in seen:
            number += 1
            one = f"({number})/{name}"
        seen.add(one)
        yield one
