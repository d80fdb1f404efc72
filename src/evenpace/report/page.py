"""What every page of HTML shares, a report's or the site's: templates that escape, data that stays data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup


def templates(folder: Path) -> Environment:
    """Return the templates of a folder: everything is escaped, and a missing value is an error."""
    return Environment(
        autoescape=True,
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def harmless(data: Any) -> Markup:
    """Encode data as JSON that cannot end the element that it stands in."""
    text = msgspec.json.encode(data).decode()
    for letter in "&<>":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)  # noqa: S704  escaped above
