"""The site in a real browser: no error, no stranger asked; by keyboard, by screen reader, on a phone."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from evenpace.library.catalogue import Library
from evenpace.serve.app import create_app

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect, sync_playwright

AXE = Path(__file__).parent / "vendor" / "axe" / "axe.min.js"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
]
PAGES = (
    "/library",
    "/library?q=hang&component=nccl",
    "/library/IL-0025",
    "/terms",
    "/terms/symptom/hang",
    "/graph",
    "/about",
    "/api",
)
SEED = "component=gpu-hw&symptom=gpu-not-visible&factor=monitoring-blind-spot"
PHONE, DESK = {"width": 390, "height": 800}, {"width": 1280, "height": 900}
# Where a node is whose filter is not chosen yet, in the drawing.
OTHER_NODE = """
document.getElementById("graph")._cyreg.cy.nodes()
  .filter((node) => node.data("url") !== location.pathname + location.search)[0].renderedPosition()
"""

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def address(real: Library) -> Iterator[str]:
    """Serve the real library on a free port; return its address."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(real), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
        thread.start()
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start the distribution's Chromium."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium here: apt-get install chromium")
        pytest.skip("no Chromium here")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=found, args=FLAGS)


@contextmanager
def visit(browser: Browser, address: str, **options: Any) -> Iterator[Page]:
    """Open a page that must neither log an error nor ask another host for anything."""
    context = browser.new_context(**({"viewport": DESK} | options))
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(address) else wrong.append(asked.url))
    yield page
    context.close()
    assert wrong == []


def complaints(page: Page) -> list[str]:
    """Return what axe-core finds that is serious or critical."""
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ]


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_every_page_in_both_languages(browser: Browser, address: str, lang: str) -> None:
    with visit(browser, address) as page:
        for path in PAGES:
            page.goto(f"{address}{path}{'&' if '?' in path else '?'}lang={lang}")
            assert page.locator("html").get_attribute("lang") == lang
            assert complaints(page) == [], path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_and_in_the_dark(browser: Browser, address: str, scheme: str) -> None:
    with visit(browser, address, viewport=PHONE, color_scheme=scheme) as page:
        for path in PAGES:
            page.goto(f"{address}{path}{'&' if '?' in path else '?'}lang=ko")
            assert complaints(page) == [], path
            wide = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert wide <= 0, path


def test_filters_are_chosen_and_taken_back(browser: Browser, address: str) -> None:
    with visit(browser, address) as page:
        page.goto(f"{address}/library?lang=ko")
        for label in ("GPU 하드웨어·메모리", "GPU 인식 불가", "모니터링 사각지대"):
            page.locator("aside").get_by_role("link", name=label).first.click()
        expect(page.locator("article.case h2")).to_have_count(2)
        assert [text[:7] for text in page.locator("article.case .id").all_inner_texts()] == [
            "IL-0146",
            "IL-0004",
        ]
        page.locator("a.chip").first.click()
        expect(page.locator("a.chip")).to_have_count(2)
        page.locator("a.clear").click()
        expect(page.locator("a.chip")).to_have_count(0)
        page.locator("a.language").click()
        assert page.locator("html").get_attribute("lang") == "en"


def test_a_search_offers_filters(browser: Browser, address: str) -> None:
    with visit(browser, address) as page:
        page.goto(f"{address}/library?lang=en")
        page.get_by_role("searchbox").fill("인피니밴드")
        page.keyboard.press("Enter")
        page.locator("a.chip.add").first.click()
        expect(page.locator("a.chip:not(.add)")).to_have_count(2)
        assert "q=" in page.url


def test_the_graph_by_mouse_and_by_keyboard(browser: Browser, address: str) -> None:
    with visit(browser, address) as page:
        page.goto(f"{address}/graph?lang=en")
        graph = page.locator("#graph.drawn")
        assert int(graph.get_attribute("data-nodes") or 0) > 20
        graph.focus()
        page.keyboard.press("ArrowRight")
        assert page.locator("#graph-status").inner_text() != ""
        page.keyboard.press("Enter")
        page.wait_for_url("**/graph?*=*&lang=en")
        chosen = page.url
        at = page.evaluate(OTHER_NODE)
        page.locator("#graph").click(position=at)
        page.wait_for_url(lambda url: url != chosen)


def test_the_graph_of_few_cases_shows_them(browser: Browser, address: str) -> None:
    with visit(browser, address) as page:
        page.goto(f"{address}/graph?{SEED}&lang=ko")
        expect(page.locator("#graph.drawn")).to_be_visible()
        assert "IL-0146" in (page.locator("#graph-data").text_content() or "")


def test_without_javascript_all_but_the_drawing_works(browser: Browser, address: str) -> None:
    with visit(browser, address, java_script_enabled=False) as page:
        page.goto(f"{address}/graph?{SEED}&lang=en")
        expect(page.locator("#graph")).to_be_hidden()
        expect(page.get_by_text("The drawing needs JavaScript")).to_be_visible()
        page.locator("#nodes a").first.click()
        page.get_by_role("link", name="as a list").click()
        expect(page.locator("article.case").first).to_be_visible()
