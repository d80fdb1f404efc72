from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from tests.report.answer.made import answer, found, hostile, nothing

from evenpace.report.answer.html import to_html

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Collect tags with attributes, check that they nest, and collect the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def texts(page: str) -> Iterator[str]:
    yield from (text.strip() for text in Page(page).text if text.strip())


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_golden(golden: Callable[[str, str], None], lang: str) -> None:
    body = to_html(answer(lang)).partition("<body>")[2]
    golden(f"answer-{lang}.html", re.sub(r"\n\s*\n+", "\n", body))


def test_the_page_needs_and_runs_nothing() -> None:
    page = to_html(answer())
    tags = Page(page).tags
    assert not {tag for tag, _ in tags} & {"script", "link", "img", "iframe", "a", "form", "object"}
    assert not {name for _, attrs in tags for name in attrs} & {"style", "src", "href", "onclick", "onerror"}
    assert ("html", {"lang": "en"}) in tags


def test_only_our_own_style_is_allowed() -> None:
    page = to_html(answer())
    style = re.search(r"<style>(.*)</style>", page, re.DOTALL)
    policy = next(attrs["content"] for tag, attrs in Page(page).tags if "http-equiv" in attrs)
    assert style
    assert policy
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")


def test_what_logs_hold_is_text(trick: str) -> None:
    page, plain = to_html(hostile(trick)), to_html(hostile("plain"))
    assert [tag for tag, _ in Page(page).tags] == [tag for tag, _ in Page(plain).tags]
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2028"} & set(page)
    page.encode()


def test_a_command_stands_alone_to_be_copied() -> None:
    assert found().advice[0].command in list(texts(to_html(answer())))


def test_nothing_found() -> None:
    said = list(texts(to_html(nothing("ko"))))
    assert any(text.startswith("발견 없음") for text in said)
    assert "a.log:3  warning: slow" in said
