"""The answer as JSON: the envelope of findings (schema 1), and beside it what was read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from secrets import token_hex
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


def streamed(page: dict[str, Any], place: list[Any], items: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield what `written` returns for a page where `items` are in `place`, an empty list somewhere in it.

    One item is in memory at a time.
    """
    mark = token_hex(16)  # which no text of the page can hold by intent
    place.append(mark)
    head, _, tail = written(page).partition(f'"{mark}"')
    place.clear()
    indent = head[head.rfind("\n") :]
    before, between = head.rstrip(), ""
    for item in items:
        yield f"{before}{between}{indent}{written(item).rstrip().replace(chr(10), indent)}"
        before, between = "", ","
    yield before + tail.lstrip() if before else tail


def written(page: dict[str, Any]) -> str:
    """Return a page as indented JSON that can be printed and encoded, whatever files are called."""
    try:
        encoded = msgspec.json.format(msgspec.json.encode(page), indent=2).decode()
    except UnicodeEncodeError:  # a name that is no text; slower, and rare
        encoded = json.dumps(page, ensure_ascii=False, indent=2)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", visible(encoded) + "\n")
