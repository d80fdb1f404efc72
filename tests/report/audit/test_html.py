from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from tests.report.answer.test_html import Page, texts
from tests.report.audit.made import aside, audit, clean, hostile, rendered, results


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_golden(golden: Callable[[str, str], None], lang: str) -> None:
    body = rendered(audit(lang), "html").partition("<body>")[2]
    golden(f"audit-{lang}.html", re.sub(r"\n\s*\n+", "\n", body))


def test_the_page_needs_and_runs_nothing() -> None:
    tags = Page(rendered(audit(), "html")).tags
    assert not {tag for tag, _ in tags} & {"script", "link", "img", "iframe", "form", "object"}
    assert not {name for _, attrs in tags for name in attrs} & {"style", "src", "onclick", "onerror"}
    away = [attrs["href"] or "" for tag, attrs in tags if tag == "a"]
    assert all(target.startswith(("#", "https://")) for target in away)


def test_only_our_own_style_is_allowed() -> None:
    page = rendered(audit(), "html")
    style = re.search(r"<style>(.*)</style>", page, re.DOTALL)
    policy = next(attrs["content"] for tag, attrs in Page(page).tags if "http-equiv" in attrs)
    assert style
    assert policy
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")


def test_what_a_cluster_holds_is_text(trick: str) -> None:
    page, plain = rendered(hostile(trick), "html"), rendered(hostile("plain"), "html")
    tags = [tag for tag, _ in Page(page).tags if tag != "code"]  # `ticks` of a tenant become code
    assert tags == [tag for tag, _ in Page(plain).tags if tag != "code"]
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2028"} & set(page)
    page.encode()


def test_prose_has_its_code() -> None:
    page = rendered(audit(), "html")
    assert "Set <code>spec.backoffLimit</code>." in page
    assert "kubectl get job train-0 -n ml -o yaml" in list(texts(page))


def test_many_subjects_are_folded_and_counted() -> None:
    said = list(texts(rendered(audit("en", results(jobs=300, more=1000)), "html")))
    assert "1296 more subjects have the same gap." in said
    assert "1100 more subjects have the same gap." in said


def test_all_is_well_and_what_does_not_count() -> None:
    assert "No gap found." in list(texts(rendered(clean(), "html")))
    assert "Found, but does not count" in list(texts(rendered(aside(), "html")))


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_browser_shows_it(tmp_path: Path, lang: str) -> None:
    from tests.chromium import complaints, started

    path = tmp_path / "audit.html"
    path.write_text(rendered(audit(lang), "html"), "utf-8")
    with started() as browser:
        for width, scheme in ((1200, "light"), (360, "dark")):
            page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            said: list[str] = []
            page.on("console", lambda one, said=said: said.append(one.text))
            page.goto(path.as_uri())
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert complaints(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert [text for text in said if "Refused" in text] == []
