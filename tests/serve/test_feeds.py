from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree as ET

from tests.library.cases import incident
from tests.serve.client import Client

from evenpace.library.catalogue import Library, Query
from evenpace.serve.app import create_app

ATOM = "{http://www.w3.org/2005/Atom}"


def test_the_feed_holds_the_answer_newest_first(site: Client, real: Library) -> None:
    answer = site.get("/feed.atom?component=nvlink&lang=ko")
    feed = ET.fromstring(answer.content)  # noqa: S314  our own
    found = real.search(Query("", {"component": ("nvlink",)}), limit=50).incidents
    assert answer.headers["content-type"].startswith("application/atom+xml")
    assert [entry.findtext(f"{ATOM}id") for entry in feed.iter(f"{ATOM}entry")] == [
        f"urn:evenpace:incident:{one.id}" for one in found
    ]
    assert feed.find(f"{ATOM}link[@rel='self']") is not None
    assert all(entry.findtext(f"{ATOM}updated") for entry in feed.iter(f"{ATOM}entry"))


def test_json_lines_hold_every_field(site: Client, real: Library) -> None:
    answer = site.get("/export.jsonl?q=NCCL")
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert len(rows) == real.search(Query("NCCL")).total
    assert set(rows[0]) >= {"id", "terms", "en", "ko", "sources", "verified"}
    assert "attachment" in answer.headers["content-disposition"]


def test_the_table_is_csv_in_the_language(site: Client, real: Library) -> None:
    rows = list(csv.DictReader(io.StringIO(site.get("/export.csv?lang=ko").text)))
    assert len(rows) == len(real.incidents)
    assert rows[0]["title"] in {one.ko.title for one in real.incidents}


def test_a_cell_is_no_formula_and_a_feed_no_markup() -> None:
    bad = {"title": "=HYPERLINK(1)", "symptom": "<b>&\x0b\ufffe"}
    site = Client(create_app(Library([incident(1, en=bad)])))
    assert "'=HYPERLINK(1)" in site.get("/export.csv?lang=en").text
    entry = ET.fromstring(site.get("/feed.atom?lang=en").content).find(f"{ATOM}entry")  # noqa: S314
    assert entry is not None
    assert entry.findtext(f"{ATOM}summary") == "<b>&"


def test_bad_parameters_are_refused(site: Client) -> None:
    for path in ("/feed.atom", "/export.jsonl", "/export.csv"):
        assert site.get(f"{path}?cause=nowhere").status_code == 400
