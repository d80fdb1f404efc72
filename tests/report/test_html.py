from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenpace.report
from evenpace.report.html import to_html
from evenpace.report.json import to_json
from evenpace.report.lines import event_line
from evenpace.report.story import Story, tell
from evenpace.watch import events as ev

VOID = {"meta", "link", "img", "br", "hr", "input"}
VENDOR = Path(evenpace.report.__file__).parent / "vendor"
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(2)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "\x1b[2J\x1b]0;owned\x07",
    "[bold red]markup[/] & <b>",
    "\u202egpj.exe\u2028\x00\x9b",
)


class Page(HTMLParser):
    """Read a page strictly: elements must nest, and all of them are kept with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    @property
    def shape(self) -> list[tuple[str, frozenset[str]]]:
        return [(tag, frozenset(attributes)) for tag, attributes in self.elements]


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_page_is_well_formed_and_tells_the_story(demo: list[ev.Event], lang: str) -> None:
    page = Page(to_html(tell(demo), lang))
    assert page.elements[0] == ("html", {"lang": lang})
    assert "node2" in page.texts["h1"][0]
    assert {"svg", "polyline", "canvas", "details", "table", "ol"} <= {tag for tag, _ in page.elements}


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_golden_of_a_slow_run(slow: list[ev.Event], golden: Callable[[str, str], None], lang: str) -> None:
    page = to_html(tell(slow), lang)
    Page(page)
    golden(f"slow-{lang}.html", page[page.index("<header>") : page.index("</main>")])


@pytest.mark.parametrize("run", ["demo", "slow"])
def test_nothing_is_fetched(run: str, request: pytest.FixtureRequest) -> None:
    page = Page(to_html(tell(request.getfixturevalue(run)), "en"))
    for tag, attributes in page.elements:
        assert "src" not in attributes, tag
        assert attributes.get("href", "data:,") == "data:,"
    assert "url(" not in "".join(page.texts["style"])
    assert "@import" not in "".join(page.texts["style"])


def test_the_policy_allows_exactly_our_script_and_style(demo: list[ev.Event]) -> None:
    page = Page(to_html(tell(demo), "en"))
    (policy,) = (a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    _, script = page.texts["script"]
    for text in (script, page.texts["style"][0]):
        assert f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy
    assert not any(name.startswith("on") or name == "style" for _, a in page.elements for name in a)


def test_the_data_of_the_plots_can_be_read(demo: list[ev.Event]) -> None:
    page = Page(to_html(tell(demo), "en"))
    data = json.loads(page.texts["script"][0])
    assert len(data["plot"]["times"]) == len(data["plot"]["seconds"]) == 212 + 150 + 1
    assert [panel["incarnation"] for panel in data["heat"]["panels"]] == [0, 1]


def test_an_empty_story_and_each_prefix_make_a_page(demo: list[ev.Event]) -> None:
    Page(to_html(Story(), "en"))
    for count in (1, 2, 7, 8, 100, 225):
        Page(to_html(tell(demo[:count]), "ko"))


def test_each_stage_of_an_answer_makes_a_page(slow: list[ev.Event]) -> None:
    for count in (75, 90, 150, 175, 190, 230):
        Page(to_html(tell(slow[:count]), "ko"))


def test_a_large_run_makes_a_page_of_bounded_size(big: list[ev.Event]) -> None:
    assert len(to_html(tell(big), "en")) < 600_000


def spoil(value: Any, text: str) -> Any:
    """Put `text` wherever a string may be anything."""
    if isinstance(value, dict):
        fixed = ("event", "time", "since", "severity", "kind", "action", "outcome", "reason", "how")
        return {key: item if key in fixed else spoil(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [spoil(item, text) for item in value]
    return text if isinstance(value, str) else value


def spoiled(events: list[ev.Event], text: str) -> list[ev.Event]:
    sample = [event for event in events if not isinstance(event, ev.Iteration) or event.iteration % 40 == 0]
    plain = [spoil(msgspec.to_builtins(event), text) for event in sample]
    return [msgspec.convert(event, ev.AnyEvent) for event in plain]


def check_harmless(events: list[ev.Event], text: str) -> None:
    tame, wild = tell(spoiled(events, "tame")), tell(spoiled(events, text))
    page = to_html(wild, "en")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]", page)
    assert Page(page).shape == Page(to_html(tame, "en")).shape
    assert json.loads(to_json(wild, "en"))["schema"] == 1
    for event in spoiled(events, text):
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", event_line(event, wild, "en"))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(demo: list[ev.Event], slow: list[ev.Event], text: str) -> None:
    check_harmless(demo, text)
    check_harmless(slow, text)


@settings(max_examples=25, deadline=None)
@given(text=st.text(min_size=1))
def test_any_text_stays_text(demo: list[ev.Event], text: str) -> None:
    check_harmless(demo, text)


def test_vendored_files_are_unchanged() -> None:
    sums = {path: path.read_text(encoding="ascii").split() for path in VENDOR.glob("*/SHA256SUMS")}
    assert sums
    for path, words in sums.items():
        for digest, name in zip(words[::2], words[1::2], strict=True):
            assert hashlib.sha256((path.parent / name).read_bytes()).hexdigest() == digest, name
        assert {p.name for p in path.parent.iterdir()} == {*words[1::2], "SHA256SUMS"}


def test_the_licence_of_what_is_inlined_is_in_the_page() -> None:
    assert "Copyright (c) 2022 Leon Sorokin" in to_html(Story(), "en")
