from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.library.cases import CASE, incident

from evenpace.errors import Problem
from evenpace.library import records


def write(folder: Path, text: str) -> Path:
    path = folder / "IL-0001.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_becomes_a_case(tmp_path: Path) -> None:
    one = records.read(write(tmp_path, yaml.safe_dump(CASE, allow_unicode=True)))
    assert one == incident(1)
    assert one.text("ko").title == "작업이 멈췄다"
    assert one.text("fr") == one.en


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "id: [",
        "id: IL-0001",
        "x: !!python/object/apply:os.system [id]",
        "[" * 30_000,
        "- " * 30_000,
        "a: &a [*a]",
        "year: 2024-13-45",
        "year: 0x_",
        "year: 2024-01-01T00:00:00+99:99",
        '!!bool "abc"',
        '!!timestamp "abc"',
        "year: " + "9" * 5000,
        yaml.safe_dump(CASE | {"verified": "known"}),
        yaml.safe_dump(CASE | {"surprise": 1}),
        yaml.safe_dump(CASE | {"sources": []}),
        yaml.safe_dump(CASE | {"id": "../../etc/passwd"}),
        yaml.safe_dump(CASE | {"sources": [{"url": "javascript:alert(1)", "title": "x"}]}),
    ],
)
def test_bad_files_are_one_problem(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(Problem) as caught:
        records.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_too_large_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="larger than 64 KiB"):
        records.source(write(tmp_path, "x" * 70_000))
    (tmp_path / "IL-0001.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(Problem, match="not UTF-8"):
        records.source(tmp_path / "IL-0001.yaml")
    with pytest.raises(Problem, match="cannot read"):
        records.source(tmp_path)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "IL-0001.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(Problem):
        records.read(path)
