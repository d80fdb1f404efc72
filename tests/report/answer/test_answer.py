from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.answer.made import TIMEOUT, XID, found, hostile

from evenpace.diagnose.reading import read
from evenpace.diagnose.sources import find
from evenpace.findings import IncidentLink, Subject
from evenpace.report.answer import answer_of, card, forms, sufferers


def case_of(tmp_path: Path, **texts: str):  # type: ignore[no-untyped-def]
    for name, text in texts.items():
        (tmp_path / f"{name}.log").write_text(text)
    inputs = find([str(tmp_path)])
    return read(inputs, jobs=1), inputs


def test_findings_carry_the_incidents_that_looked_the_same(tmp_path: Path) -> None:
    link = IncidentLink("IL-0001", "why")
    said = answer_of(*case_of(tmp_path, kernel=XID + "\n"), "en", lambda finding, lang: (link,))
    assert said.findings[0].incidents == (link,)
    assert card(said.findings[0], "en").incidents == [("IL-0001", "why")]


def test_a_card_looks_up_no_incidents_of_its_own(tmp_path: Path) -> None:
    said = answer_of(*case_of(tmp_path, kernel=XID + "\n"), "en", lambda finding, lang: ())
    assert card(said.findings[0], "en").incidents == []


def test_what_was_read_is_counted(tmp_path: Path) -> None:
    said = answer_of(*case_of(tmp_path, kernel=XID + "\n", train=TIMEOUT + "\nx\n", empty=""), "ko")
    assert [Path(name).name for name in said.files] == ["kernel.log", "train.log"]
    assert said.lines == 3
    assert said.size == len(XID) + len(TIMEOUT) + 4
    assert [Path(name).name for name in said.skipped["empty"]] == ["empty.log"]
    assert said.lang == "ko"


def test_lines_that_stand_out_are_shown_where_nothing_was_found_only(tmp_path: Path) -> None:
    healthy = answer_of(*case_of(tmp_path, train="".join(f"step {n} loss 2.1\n" for n in range(9))), "en")
    assert healthy.findings == ()
    assert healthy.unusual
    assert answer_of(*case_of(tmp_path, train=XID + "\n"), "en").unusual == ()


@pytest.mark.parametrize("form", sorted(forms()))
def test_every_form_ends_its_last_line(form: str) -> None:
    assert forms()[form](hostile("x")).endswith("\n" if form != "html" else ">")


def test_when_it_was_is_shown() -> None:
    assert card(found(), "en").when == "2025-03-03 02:11:07 UTC"


def test_ranks_are_drawn_together_and_many_others_counted() -> None:
    ranks = [Subject(kind="rank", rank=rank) for rank in range(8)]
    nodes = [Subject(kind="node", node=f"n{number}") for number in range(15)]
    assert sufferers([*ranks, *nodes[:2]], "en") == "rank 0-7, n0, n1"
    assert sufferers(nodes, "en").endswith("n11, 3 more")
    assert sufferers([Subject(kind="rank", rank=3, node="n1")], "ko") == "n1의 rank 3"
    assert sufferers([], "en") == ""
