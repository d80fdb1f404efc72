"""The answer as JSON: the envelope of findings (schema 1), and beside it what was read."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from evenpace.findings import to_builtins
from evenpace.library.export import visible
from evenpace.report.answer import Answer

_SURROGATE = re.compile("[\ud800-\udfff]")


def to_json(answer: Answer) -> str:
    """Return the answer as indented JSON; what a terminal would obey is escaped."""
    page = to_builtins(answer.findings) | {
        "unusual": msgspec.to_builtins(list(answer.unusual)),
        "read": {"files": list(answer.files), "bytes": answer.size, "lines": answer.lines},
        "skipped": {reason: list(names) for reason, names in answer.skipped.items()},
    }
    return written(page)


def written(page: dict[str, Any]) -> str:
    """Return a page as indented JSON that can be printed and encoded, whatever files are called."""
    try:
        encoded = msgspec.json.format(msgspec.json.encode(page), indent=2).decode()
    except UnicodeEncodeError:  # a name that is no text; slower, and rare
        encoded = json.dumps(page, ensure_ascii=False, indent=2)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", visible(encoded) + "\n")
