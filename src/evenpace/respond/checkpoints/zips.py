"""Prove a zip archive as torch.save writes it: stored members, each with its CRC-32, nothing else.

Memory stays bounded whatever the archive claims: compressed or overlapping members are refused (zip bombs),
so the work is at most one pass over the file. Names of members are never used as paths.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from typing import IO, cast

from evenpace.respond.checkpoints.files import Damaged, Window

CHUNK = 1 << 20
MAX_DIRECTORY = 16 << 20  # bytes of the central directory: some 200 000 members
END = struct.Struct("<4s4H2LH")  # end of central directory, without comment
END64 = struct.Struct("<4sQ2H2L4Q")
LOCATOR64 = struct.Struct("<4sLQL")
_ERRORS = (
    zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, ValueError, EOFError, OverflowError,
    struct.error, zlib.error, KeyError, IndexError,
)  # fmt: skip


def prove(window: Window) -> None:
    """Read every member and compare its CRC; raises Damaged at the first fault."""
    try:
        count = _check_end(window)
        with zipfile.ZipFile(cast(IO[bytes], window)) as archive:
            _check_members(archive, count, window.seek(0, 2))
            for member in archive.infolist():
                _read(archive, member)
    except _ERRORS as error:
        raise Damaged(f"damaged archive: {str(error) or type(error).__name__}"[:300]) from error


def _check_end(window: Window) -> int:
    """Check that the directory's place and size fit the archive, before it is read; return its count."""
    size = window.seek(0, 2)
    if size < END.size:
        raise Damaged("too short for an archive")
    window.seek(size - END.size)
    magic, _, _, _, count, length, offset, comment = END.unpack(window.read(END.size))
    if magic != b"PK\5\6" or comment:
        raise Damaged("the archive has no end: it was cut off, or not written completely")
    end = size - END.size
    if (found := _end64(window, end)) is not None:
        end, count, length, offset = found
    if offset + length != end or length > MAX_DIRECTORY or count * 46 > length:
        raise Damaged("the archive's directory does not fit")
    return int(count)


def _end64(window: Window, end: int) -> tuple[int, int, int, int] | None:
    """Return (place, count, length, offset) of the 64-bit end of the directory, where there is one."""
    if end < LOCATOR64.size + END64.size:
        return None
    window.seek(end - LOCATOR64.size)
    magic, _, place, _ = LOCATOR64.unpack(window.read(LOCATOR64.size))
    if magic != b"PK\6\7":
        return None
    if place != end - LOCATOR64.size - END64.size:
        raise Damaged("the archive's directory does not fit")
    window.seek(place)
    fields = END64.unpack(window.read(END64.size))
    return place, fields[7], fields[8], fields[9]


def _check_members(archive: zipfile.ZipFile, count: int, size: int) -> None:
    members = archive.infolist()
    if len(members) != count:  # a damaged length of one entry can swallow those after it
        raise Damaged("the archive's directory does not list all members")
    if not members:
        raise Damaged("the archive is empty")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise Damaged("the archive has compressed members, which torch.save never writes")
    if sum(member.file_size for member in members) > size:
        raise Damaged("the archive claims more content than it has")
    if len({member.filename for member in members}) != len(members):
        raise Damaged("the archive has two members of one name")


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Read one member to its end, where zipfile compares the CRC."""
    left = member.file_size
    with archive.open(member) as content:
        while data := content.read(CHUNK):
            left -= len(data)
    if left:
        raise Damaged(f"{member.filename[:100]} is shorter than it should be")
