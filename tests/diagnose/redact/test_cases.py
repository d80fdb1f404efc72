"""What a redacted log says is what the original says, and nobody's name is left in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenpace.diagnose.engine import Diagnosis, diagnose
from evenpace.diagnose.formats.clean import decode
from evenpace.diagnose.identity import canonical_gpu
from evenpace.diagnose.reading import read
from evenpace.diagnose.redact import Redactor
from evenpace.diagnose.roster import roster_of
from evenpace.diagnose.sources import Inputs
from evenpace.diagnose.telling import subject
from evenpace.report.answer import answer_of
from evenpace.report.answer.bundle import write_bundle

CASES = Path(__file__).parents[1] / "cases"
NAMES = sorted(path.parent.name for path in CASES.glob("*/expected.json"))


def files(name: str) -> list[Path]:
    expected = json.loads((CASES / name / "expected.json").read_text("utf-8"))
    return [CASES / name / one for one in expected["files"]]


def said(found: list[Diagnosis]) -> list[tuple[object, ...]]:
    """Return what must not change: fault, kind, ranks, GPUs by address; of hosts, how many."""
    return [
        (
            one.fault,
            subject(one.culprit).kind,
            one.culprit.rank,
            one.culprit.local_rank,
            one.culprit.pid,
            [canonical_gpu(gpu) for gpu in several(one.culprit.gpu) if "-" not in gpu and len(gpu) < 13],
            len(list(several(one.culprit.host))),
        )
        for one in found
    ]


def several(value: object) -> Iterator[str]:
    if value is not None:
        yield from [value] if isinstance(value, str) else value  # type: ignore[misc]


@pytest.mark.parametrize("name", NAMES)
def test_the_diagnosis_stays_the_same(name: str, tmp_path: Path) -> None:
    originals = files(name)
    inputs = Inputs(originals)
    case = read(inputs, jobs=1)
    write_bundle(tmp_path / "b", answer_of(case, inputs, "en"), inputs.files, roster_of(case.lines).hosts)
    again = read(Inputs(sorted((tmp_path / "b").glob("**/*.log"))), jobs=1)
    before, after = diagnose(case), diagnose(again)
    assert said(after) == said(before)
    told = json.loads((tmp_path / "b" / "answer.json").read_text("utf-8"))["findings"]
    assert [one["subject"]["node"] for one in told] == [
        list(host) if isinstance(host := one.culprit.host, tuple) else host for one in after
    ]


@pytest.mark.parametrize("name", NAMES)
def test_what_was_replaced_stays(name: str) -> None:
    texts = [decode(path.read_bytes()) for path in files(name)]
    redactor = Redactor()
    for text in texts:
        redactor.feed(text)
    for text in texts:
        new = redactor.replace(text)
        assert new.count("\n") == text.count("\n")
        assert redactor.replace(new) == new
        fresh = Redactor()
        fresh.feed(new)
        assert fresh.replace(new) == new
