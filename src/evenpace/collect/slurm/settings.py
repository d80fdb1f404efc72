"""Read what `scontrol show config` prints."""

from __future__ import annotations

_MOST = 10_000  # settings


def settings(text: str) -> dict[str, str]:
    """Return the settings of lines `KillWait  = 30 sec`; raises ValueError where there are none."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, sign, value = line.partition("=")
        if sign and key.strip().replace("_", "").isalnum() and len(found) < _MOST:
            found[key.strip()] = value.strip()
    if not found:
        raise ValueError("no line `Name = value`")
    return found
