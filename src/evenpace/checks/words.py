"""The words that checks look for: what a redacted snapshot must keep, so that they answer as they did."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from evenpace import collect
from evenpace.checks.catalogue import checks

_WORD = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[^\W\d_]+")
# Beside them: units, and what every path and script may hold.
_COMMON = frozenset(
    {
        *(
            "sec",
            "secs",
            "second",
            "seconds",
            "min",
            "mins",
            "minute",
            "minutes",
            "hour",
            "hours",
            "day",
            "days",
        ),
        *(
            "bin",
            "sbin",
            "bash",
            "sh",
            "usr",
            "etc",
            "opt",
            "mnt",
            "var",
            "tmp",
            "home",
            "root",
            "lib",
            "env",
        ),
        *("python", "py", "if", "then", "else", "fi", "for", "in", "do", "done", "while", "case", "esac"),
        *("export", "set", "echo", "exit"),
    }
)


@cache
def looked_for() -> frozenset[str]:
    """Return, in small letters, all words of the sources of the checks and of what they share: all public."""
    shared = Path(collect.__file__).parent
    files = [*(shared / "kubernetes").glob("*.py"), *(shared / "slurm").glob("*.py")]
    files += [path for check in checks().values() for path in check.folder.glob("*.py")]
    words = set(_COMMON)
    for path in files:
        text = path.read_text("utf-8")
        words.update(_WORD.findall(text), _LETTERS.findall(text))
    return frozenset(word.lower() for word in words if not word.isdigit())
