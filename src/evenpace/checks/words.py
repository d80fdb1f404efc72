"""The words that checks look for: what a redacted snapshot must keep, so that they answer as they did."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from evenpace import collect
from evenpace.checks.catalogue import checks

_WORD = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[^\W\d_]+")


@cache
def looked_for() -> frozenset[str]:
    """Return, in small letters, all words of the sources of the checks and of what they share: all public."""
    shared = Path(collect.__file__).parent
    files = [*(shared / "kubernetes").glob("*.py"), *(shared / "slurm").glob("*.py")]
    files += [path for check in checks().values() for path in check.folder.glob("*.py")]
    words: set[str] = set()
    for path in files:
        text = path.read_text("utf-8")
        words.update(_WORD.findall(text), _LETTERS.findall(text))
    return frozenset(word.lower() for word in words if not word.isdigit())
