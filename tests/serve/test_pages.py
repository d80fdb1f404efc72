"""The pages: complete in both languages, linked, escaped, and never a 500."""

from __future__ import annotations

import hashlib
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.library.cases import incident
from tests.serve.client import Client

from evenpace import terms
from evenpace.library.catalogue import Library
from evenpace.serve import render
from evenpace.serve.app import create_app

PAGES = (
    "/library",
    "/library/IL-0004",
    "/diagnose",
    "/terms",
    "/terms/symptom/hang",
    "/graph",
    "/about",
    "/api",
)
SEED = "component=gpu-hw&symptom=gpu-not-visible&factor=monitoring-blind-spot"
HOSTILE = "<script>alert(1)</script>'\"&`<b>`{{7*7}}"


class Reader(HTMLParser):
    """Collect what a page holds: links, ids, elements, its language."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.elements: list[str] = []
        self.handlers: list[str] = []
        self.lang = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements.append(tag)
        self.handlers += [name for name in given if name.startswith("on") or name == "style"]
        if tag == "html":
            self.lang = given.get("lang") or ""
        if (link := given.get("href") or given.get("src")) is not None:
            self.links.append(link)


def test_a_case_names_the_checks_that_cite_it(site: Client) -> None:
    text = site.get("/library/IL-0138?lang=ko").text
    assert "<code>evenpace audit --check jobset_no_restarts</code>: JobSet이 장애 후" in text


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_each_page_in_both_languages(site: Client, path: str, lang: str) -> None:
    answer = site.get(f"{path}?lang={lang}")
    assert answer.status_code == 200
    assert answer.headers["content-language"] == lang
    assert Reader(answer.text).lang == lang
    assert ("사례" in answer.text) == (lang == "ko")
    assert "[serve-" not in answer.text


def test_the_browsers_language_is_taken_where_none_is_asked_for(site: Client) -> None:
    assert Reader(site.get("/library", headers={"accept-language": "ko-KR"}).text).lang == "ko"
    assert Reader(site.get("/library?lang=en", headers={"accept-language": "ko-KR"}).text).lang == "en"


def test_the_filter_of_the_seed_page(site: Client) -> None:
    text = site.get(f"/library?{SEED}&lang=ko").text
    assert re.findall(r'<h2><a href="/library/(IL-\d+)', text) == ["IL-0146", "IL-0004"]
    assert "전체" in text


def test_a_chip_takes_its_filter_away_and_clear_takes_all(site: Client) -> None:
    text = site.get(f"/library?{SEED}&q=GPU&lang=en").text
    chips = re.findall(r'class="chip" href="([^"]+)"', text)
    assert len(chips) == 4
    assert all(chip.count("=") == 4 for chip in chips)
    assert 'class="clear" href="/library?lang=en"' in text


def test_an_empty_answer_says_what_to_loosen(site: Client) -> None:
    text = site.get("/library?q=zyzzyva&year=2024&lang=en").text
    assert "No case matches" in text
    assert "Without “zyzzyva”" in text


def test_a_merged_case_leads_to_the_one_that_holds_it(site: Client) -> None:
    answer = site.get("/library/IL-0050?lang=ko")
    assert (answer.status_code, answer.headers["location"]) == (308, "/library/IL-0048?lang=ko")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/library/IL-9999", 404),
        ("/library/..%2f..%2fetc%2fpasswd", 404),
        ("/terms/cause/nowhere", 404),
        ("/terms/fault/hang", 404),
        ("/static/../app.py", 404),
        ("/static/%2e%2e/app.py", 404),
        ("/library?page=99", 404),
        ("/library?page=-1", 400),
        ("/library?cause=nowhere", 400),
        ("/library?lang=xx", 400),
        ("/library?q=" + "x" * 500, 400),
        ("/nowhere", 404),
        ("/graph?symptom=nowhere", 400),
        ("/library?scope=moon", 400),
        ("/library?year=abcd", 400),
    ],
)
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_bad_address_is_a_clear_page(site: Client, path: str, status: int, lang: str) -> None:
    answer = site.get(path, headers={"accept-language": lang})
    assert answer.status_code == status
    assert "text/html" in answer.headers["content-type"]
    assert "Traceback" not in answer.text
    said = re.search(r"</h1>\s*<p>(.*)</p>", answer.text)
    assert said is not None
    assert bool(re.search("[가-힣]", said[1])) == (lang == "ko")


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_words_get_a_page(real: Library, text: str, value: str) -> None:
    site = _small()
    answer = site.request("GET", "/library", params={"q": text, "organisation": value, "lang": "en"})
    assert answer.status_code in {200, 400}
    assert set(Reader(answer.text).elements) <= KNOWN


def test_what_a_case_says_is_never_markup() -> None:
    texts = {
        "title": HOSTILE,
        "symptom": HOSTILE,
        "trigger": HOSTILE,
        "cause": HOSTILE,
        "detection": HOSTILE,
        "lesson": HOSTILE,
    }
    lists = {"actions": [HOSTILE], "follow_up": [HOSTILE]}
    fields = {"en": texts | lists, "ko": texts | lists, "organisation": HOSTILE}
    fields["sources"] = [{"url": 'https://example.org/"><script>', "title": HOSTILE}]
    site = Client(create_app(Library([incident(n, **fields) for n in (1, 2)])))
    for path in ("/library", "/library/IL-0001", "/graph", "/terms/symptom/hang", "/about"):
        answer = site.get(f"{path}?lang=en&q={'' if path != '/library' else 'script'}")
        page = Reader(answer.text)
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text
        assert "b" not in page.elements
        assert page.handlers == []
        assert "49" not in re.sub(r"IL-\d+", "", answer.text)


def test_every_link_of_the_site_leads_somewhere(site: Client, real: Library) -> None:
    seen: set[str] = set()
    pending = [
        "/library?lang=en",
        "/library/IL-0048?lang=ko",
        "/graph?lang=en&component=nvlink",
        "/terms/cause/unknown?lang=en",
        "/about?lang=ko",
        "/api?lang=en",
    ]
    for path in pending:
        links = {link for link in Reader(site.get(path).text).links if link.startswith("/")}
        for link in sorted(links - seen)[:60]:
            assert site.get(link).status_code == 200, (path, link)
        seen |= links
    assert len(seen) > 100


def test_no_page_asks_another_host_for_anything(site: Client) -> None:
    for path in PAGES:
        text = site.get(path).text
        assert not re.findall(r'(?:src|rel="stylesheet" href|action)="(?:https?:)?//', text)
        assert "style=" not in text
        assert re.findall(r"<script(?! src| type=\"application/json\")", text) == []


def test_the_vendored_files_are_unchanged(repository: Path) -> None:
    for folder in (render.HERE / "static/vendor/cytoscape", repository / "tests/serve/vendor/axe"):
        for line in (folder / "SHA256SUMS").read_text().splitlines():
            digest, name = line.split()
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name


def test_no_phrase_of_the_site_is_unused() -> None:
    used = "".join(
        path.read_text("utf-8") for path in render.HERE.rglob("*") if path.suffix in {".py", ".j2"}
    )
    asked = set(re.findall(r't\("([a-z-]+)"', used)) | set(re.findall(r'"serve-([a-z-]+)"', used))
    families = ("refused-", "mark-", "about-")
    mine = tomllib.loads((Path(terms.__file__).parent / "phrases" / "serve.toml").read_text("utf-8"))
    keys = [key.removeprefix("serve-") for key in mine]
    assert [key for key in keys if key not in asked and not key.startswith(families)] == []


KNOWN = {
    "h1",
    "h2",
    "p",
    "a",
    "ul",
    "li",
    "article",
    "section",
    "details",
    "summary",
    "aside",
    "input",
    "button",
    "form",
    "label",
    "span",
    "div",
    "nav",
    "main",
    "header",
    "footer",
    "link",
    "meta",
    "title",
    "html",
    "head",
    "body",
    "code",
}
_SITE: list[Client] = []


def _small() -> Client:
    if not _SITE:
        _SITE.append(Client(create_app(Library([incident(1), incident(2, organisation="Other")]))))
    return _SITE[0]
