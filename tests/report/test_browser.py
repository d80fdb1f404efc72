"""The page in a real browser: no error, nothing asked for, readable by all, nothing that stands out of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evenpace.report.html import to_html
from evenpace.report.story import tell
from evenpace.watch import events as ev

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import Browser, expect
from tests import chromium

WIDTHS = (390, 1400)
pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start the distribution's Chromium."""
    with chromium.started() as one:
        yield one


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_slow_run_on_any_screen(
    browser: Browser, slow: list[ev.Event], tmp_path: Path, lang: str, scheme: str
) -> None:
    file = tmp_path / "report.html"
    file.write_text(to_html(tell(slow), lang), "utf-8")
    for width in WIDTHS:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
        )
        page = context.new_page()
        wrong: list[str] = []
        page.on("console", lambda said, wrong=wrong: wrong.append(said.text))
        page.on("pageerror", lambda error, wrong=wrong: wrong.append(str(error)))
        page.goto(file.as_uri())
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        expect(page.locator("details.measured table").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert chromium.complaints(page) == []
        assert wrong == []
        context.close()


def test_the_heat_map_says_what_was_in_force(browser: Browser, slow: list[ev.Event], tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(to_html(tell(slow), "en"), "utf-8")
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    page.goto(file.as_uri())
    canvas = page.locator("#heat")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    left, width = 64, box["width"] - 64
    page.mouse.move(box["x"] + left + width * 100 / 220, box["y"] + 60)
    expect(page.locator("#heat-value")).to_contain_text("in force: micro-batches")
    page.mouse.move(box["x"] + left + width * 10 / 220, box["y"] + 60)
    expect(page.locator("#heat-value")).not_to_contain_text("in force")
