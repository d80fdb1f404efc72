"""The distribution's Chromium, and what axe-core finds in a page that it shows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, sync_playwright

AXE = Path(__file__).parent / "serve" / "vendor" / "axe" / "axe.min.js"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
]


@contextmanager
def started() -> Iterator[Browser]:
    """Start the browser; without one a test is skipped, or fails where CI is set."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium here: apt-get install chromium")
        pytest.skip("no Chromium here")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=found, args=FLAGS)


def complaints(page: Page) -> list[str]:
    """Return what axe-core finds that is serious or critical."""
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ]
