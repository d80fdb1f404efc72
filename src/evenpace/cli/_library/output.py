"""What goes to standard output: nothing that a stranger's case holds may steer the terminal."""

from __future__ import annotations

import json
from typing import Any

import click

from evenpace.library.export import visible
from evenpace.terms.spelling import clean

SCHEMA = 1


def tidy(text: str) -> str:
    """Return a text on one line, whole, with its control characters made visible."""
    return clean(" ".join(text.split()))


def put(text: str) -> None:
    """Print text as it is, but for control characters."""
    click.echo(clean(text).encode(), nl=False)


def put_json(page: dict[str, Any]) -> None:
    """Print a page of JSON; what a terminal obeys is escaped, so that nothing is lost."""
    text = json.dumps({"schema": SCHEMA} | page, ensure_ascii=False, indent=2)
    click.echo(visible(text).encode())
