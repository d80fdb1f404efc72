"""The words that checks look for: what a redacted snapshot must keep, so that they answer as they did."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
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


def _texts(code: ast.Module) -> Iterator[str]:
    """Yield the texts that code works with: neither its comments nor its docstrings."""
    said = {id(node.value) for node in ast.walk(code) if isinstance(node, ast.Expr)}
    for node in ast.walk(code):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


@cache
def looked_for() -> frozenset[str]:
    """Return, in small letters, all words that the checks and what they share compare with: all public."""
    shared = Path(collect.__file__).parent
    files = [*(shared / "kubernetes").glob("*.py"), *(shared / "slurm").glob("*.py")]
    files += [path for check in checks().values() for path in check.folder.glob("*.py")]
    words = set(_COMMON)
    for text in (text for path in files for text in _texts(ast.parse(path.read_text("utf-8")))):
        words.update(_WORD.findall(text), _LETTERS.findall(text))
    return frozenset(word.lower() for word in words if not word.isdigit())
