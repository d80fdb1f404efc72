"""Read what `scontrol show config` prints."""

from __future__ import annotations

import re

_MOST = 10_000  # settings
_NAME = re.compile(r"\w{1,100}(?:\[[0-9]{1,3}\])?")


def settings(text: str) -> dict[str, str]:
    """Return the settings of lines `KillWait  = 30 sec` or `Prolog[0] = …`; raises ValueError for none."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, sign, value = line.partition("=")
        if sign and _NAME.fullmatch(key.strip()) and len(found) < _MOST:
            found[key.strip()] = value.strip()
    if not found:
        raise ValueError("no line `Name = value`")
    return found
