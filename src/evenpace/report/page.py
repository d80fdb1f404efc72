"""What every page of HTML shares, a report's or the site's: templates that escape, data that stays data."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
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


def dressed(*sheets: Path) -> dict[str, str]:
    """Return `style` and `policy` of a page without scripts: these sheets, and nothing from elsewhere."""
    style = "".join(sheet.read_text("utf-8") for sheet in sheets)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return {"style": Markup(style), "policy": policy}  # noqa: S704  our own files


def harmless(data: Any) -> Markup:
    """Encode data as JSON that cannot end the element that it stands in."""
    text = msgspec.json.encode(data).decode()
    for letter in "&<>":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)  # noqa: S704  escaped above
