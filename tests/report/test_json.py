from __future__ import annotations

import json
from collections.abc import Callable

import msgspec

from evenpace.findings import Finding
from evenpace.report.json import report, to_json
from evenpace.report.story import Story, tell
from evenpace.watch import events as ev


def test_golden(demo: list[ev.Event], golden: Callable[[str, str], None]) -> None:
    golden("demo-en.json", to_json(tell(demo), "en").decode())


def test_golden_of_a_slow_run(slow: list[ev.Event], golden: Callable[[str, str], None]) -> None:
    page = report(tell(slow), "en")
    answers = ("narrowed", "probed", "adapted", "decisions", "balances", "lost_seconds")
    golden("slow-en.json", msgspec.json.format(msgspec.json.encode({k: page[k] for k in answers})).decode())


def test_the_findings_keep_the_contract(demo: list[ev.Event]) -> None:
    page = json.loads(to_json(tell(demo), "ko"))
    assert page["schema"] == 1
    assert [msgspec.convert(finding, Finding).fault for finding in page["findings"]] == [
        "non-communication-hang",
        "non-communication-slow",
    ]
    assert "진입하지 않음" in page["findings"][0]["summary"]
    assert len(page["states"]) == len(page["findings"])


def test_an_empty_story() -> None:
    page = report(Story(), "en")
    assert page["findings"] == []
    assert page["run"]["state"] == "running"
