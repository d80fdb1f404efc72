"""The site in a real browser: no error, no stranger asked; by keyboard, by screen reader, on a phone."""

from __future__ import annotations

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
from playwright.sync_api import Browser, Page, expect
from tests import chromium

PAGES = (
    "/library",
    "/library?q=hang&component=nccl",
    "/library/IL-0025",
    "/diagnose",
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
    with chromium.started() as one:
        yield one


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


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_every_page_in_both_languages(browser: Browser, address: str, lang: str) -> None:
    with visit(browser, address) as page:
        for path in PAGES:
            page.goto(f"{address}{path}{'&' if '?' in path else '?'}lang={lang}")
            assert page.locator("html").get_attribute("lang") == lang
            assert chromium.complaints(page) == [], path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_and_in_the_dark(browser: Browser, address: str, scheme: str) -> None:
    with visit(browser, address, viewport=PHONE, color_scheme=scheme) as page:
        for path in PAGES:
            page.goto(f"{address}{path}{'&' if '?' in path else '?'}lang=ko")
            assert chromium.complaints(page) == [], path
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


XID = "[ 1234.500000] NVRM: Xid (PCI:0000:3b:00): 79, pid=4242, GPU has fallen off the bus.\n"
CALM = "step 1 loss 2.5\nstep 2 loss 2.4\n"
PATIENCE = 60_000  # milliseconds for a diagnosis, whatever else the machine does
# Drop files as a hand does: (name, text) each.
DROP = """
(files) => {
  const held = new DataTransfer();
  for (const [name, text] of files) held.items.add(new File([text], name));
  for (const kind of ["dragover", "drop"])
    document.querySelector("main").dispatchEvent(
      new DragEvent(kind, { dataTransfer: held, bubbles: true, cancelable: true }));
}
"""
LOOKS = [
    ({"viewport": DESK}, "en"),
    ({"viewport": PHONE, "color_scheme": "dark"}, "ko"),
    ({"viewport": PHONE}, "en"),
    ({"viewport": DESK, "color_scheme": "dark"}, "ko"),
]
SAID = {
    "en": {"send": "Diagnose", "json": "JSON", "who": "GPU 0000:3b:00 on node042"},
    "ko": {"send": "진단", "json": "JSON", "who": "node042의 GPU 0000:3b:00"},
}


def fits(page: Page) -> bool:
    """Tell that nothing stands out of the page to its right."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.mark.parametrize(("look", "lang"), LOOKS)
def test_logs_are_dropped_and_the_answer_leads_to_the_library(
    browser: Browser, address: str, look: dict[str, Any], lang: str
) -> None:
    with visit(browser, address, **look) as page:
        page.goto(f"{address}/diagnose?lang={lang}")
        page.evaluate(DROP, [["dmesg-node042.log", XID], ["rank3.log", CALM]])
        expect(page.locator("#names li")).to_have_count(2)
        assert chromium.complaints(page) == []
        assert fits(page)
        page.get_by_role("button", name=SAID[lang]["send"], exact=True).click()
        expect(page.locator(".answer h2")).to_have_text(SAID[lang]["who"], timeout=PATIENCE)
        assert chromium.complaints(page) == []
        assert fits(page)
        assert page.locator("html").get_attribute("lang") == lang
        with page.expect_download() as saved:
            page.get_by_role("link", name="JSON").click()
        assert "dmesg-node042.log" in Path(saved.value.path()).read_text("utf-8")
        page.locator(".answer dd a").first.click()
        page.wait_for_url("**/library/IL-*")
        expect(page.locator("article.whole h1")).to_be_visible()


def test_a_form_that_is_not_right_yet(browser: Browser, address: str) -> None:
    with visit(browser, address) as page:
        page.goto(f"{address}/diagnose?lang=en")
        page.keyboard.press("Tab")
        page.locator("#text").focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("No log was sent")
        page.evaluate(DROP, [[f"{number}.log", CALM] for number in range(513)])
        expect(page.get_by_role("alert")).to_contain_text("evenpace diagnose FOLDER")
        expect(page.locator(".send button")).to_be_disabled()
        assert chromium.complaints(page) == []
        page.locator("#empty").click()
        expect(page.get_by_role("alert")).to_be_hidden()
        page.locator("#text").fill(XID)
        page.locator(".send button").click()
        expect(page.locator(".answer h2")).to_contain_text("GPU 0000:3b:00", timeout=PATIENCE)
        page.go_back()
        expect(page.locator("#logs")).to_be_visible()


def test_progress_and_a_server_that_is_gone(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport=DESK)
    page = context.new_page()
    page.goto(f"{address}/diagnose?lang=en")
    page.evaluate(DROP, [["big.log", CALM * 2_000]])
    page.route("**/diagnose?*", lambda route: route.abort())
    page.locator(".send button").click()
    expect(page.get_by_role("alert")).to_contain_text("Is evenpace serve still running?")
    expect(page.locator("#bar")).to_be_hidden()
    expect(page.locator("#names li")).to_have_count(1)
    page.unroute_all()
    page.evaluate("""
      new MutationObserver(() => { window.told = [...(window.told ?? []), at("state").textContent]; })
        .observe(document.getElementById("state"), { childList: true })
    """)
    page.locator(".send button").click()
    expect(page.locator(".answer")).to_be_visible(timeout=PATIENCE)
    told = page.evaluate("window.told")
    assert any(text.startswith("Sending: ") for text in told)
    assert "Reading the logs …" in told
    context.close()


def test_without_javascript_logs_are_diagnosed(browser: Browser, address: str, tmp_path: Path) -> None:
    log = tmp_path / "dmesg-node042.log"
    log.write_text(XID, "utf-8")
    with visit(browser, address, java_script_enabled=False) as page:
        page.goto(f"{address}/diagnose?lang=en")
        page.locator("#files").set_input_files(log)
        page.get_by_role("button", name="Diagnose", exact=True).click()
        expect(page.locator(".answer h2")).to_have_text("GPU 0000:3b:00 on node042", timeout=PATIENCE)
        with page.expect_download() as saved:
            page.get_by_role("link", name="Markdown").click()
        assert "node042" in Path(saved.value.path()).read_text("utf-8")


def test_another_sites_form_is_refused(browser: Browser, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.route(
        "http://evil.example/*",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f'<form action="{address}/diagnose" method="post" enctype="multipart/form-data">'
            '<textarea name="text">Xid 79</textarea><button>x</button></form>',
        ),
    )
    page.goto("http://evil.example/x")
    with page.expect_navigation() as went:
        page.get_by_role("button").click()
    assert went.value is not None
    assert went.value.status == 403
    context.close()
