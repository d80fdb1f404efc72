"""Made-up signatures and lines for the tests of diagnosis."""

from __future__ import annotations

from typing import Any

import msgspec

from evenpace.diagnose.model import NOBODY, Identity, Line, Sighting
from evenpace.diagnose.signature import Signature, _Content


def signature(id_: str, fault: str = "gpu-hardware", role: str = "cause", **content: Any) -> Signature:
    """Return a signature; what is not given has its default."""
    fields = {"title": {"en": id_, "ko": id_}} | content
    return Signature(id_, fault, role, msgspec.convert(fields, type=_Content))


def line(
    text: str = "x",
    source: str = "a.log",
    number: int = 1,
    printer: Identity = NOBODY,
    time: float | None = None,
) -> Line:
    """Return a line; one with a time is dated."""
    return Line(source, number, text, printer, time, dated=time is not None)


def sighting(id_: str, culprit: Identity = NOBODY, **of_line: Any) -> Sighting:
    """Return a sighting in one line."""
    return Sighting(id_, (line(**of_line),), culprit)
