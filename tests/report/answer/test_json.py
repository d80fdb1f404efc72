from __future__ import annotations

import json

import msgspec
import pytest
from tests.report.answer.made import answer, found, hostile, nothing

from evenpace.findings import Finding
from evenpace.report.answer.json import streamed, to_json, written


def test_the_envelope_of_findings_and_beside_it_what_was_read() -> None:
    page = json.loads(to_json(answer()))
    assert page["schema"] == 1
    assert [msgspec.convert(one, Finding) for one in page["findings"]] == [found()]
    files = ["logs/dmesg-node7.txt", "logs/train.log"]
    assert page["read"] == {"files": files, "bytes": 182_400, "lines": 2051}
    assert page["skipped"] == {"empty": ["logs/rank9.log"]}


def test_what_stands_out_where_nothing_was_found() -> None:
    page = json.loads(to_json(nothing()))
    assert page["findings"] == []
    assert page["unusual"][0]["text"] == "warning: slow"


def test_all_text_survives_and_none_of_it_is_obeyed(trick: str) -> None:
    text = to_json(hostile(trick))
    assert json.loads(text)["findings"][0]["evidence"][0]["text"] == trick
    assert json.loads(text)["read"]["files"][0] == trick
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2028"} & set(text)
    text.encode()


def test_korean_is_readable() -> None:
    assert "GPU가 버스에서 이탈함" in to_json(answer("ko"))


@pytest.mark.parametrize("items", [[], [{"a": 1}], [{"a": "x\ny", "b": [{}, []]}, {"c": ["\u202e", "가"]}]])
def test_a_page_in_pieces_is_the_page(items: list[dict[str, object]]) -> None:
    place: list[object] = []
    page = {"schema": 1, "runs": [{"before": "[]", "results": place, "after": ["]"]}], "more": {}}
    told = "".join(streamed(page, place, iter(items)))
    place += items
    assert told == written(page)
