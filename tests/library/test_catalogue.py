from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.library.cases import CASE, incident, libraries

from evenpace.errors import Problem
from evenpace.library.catalogue import Library, Query, files, home


@pytest.fixture(scope="module")
def small() -> Library:
    return Library(
        [
            incident(1, year=2021, en={"title": "A GPU fell off the bus with Xid 79"}),
            incident(2, year=2024, en={"symptom": "An Xid 31 was logged 79 times."}),
            incident(
                3, year=2024, ko={"symptom": "사전학습 처리량이 떨어졌다"}, terms={"symptom": ["slowdown"]}
            ),
            incident(
                4, year=2023, organisation="OpenAI", terms={"component": ["ib-fabric"]}, also=["IL-0009"]
            ),
        ]
    )


def ids(library: Library, text: str = "", **filters: tuple[str, ...]) -> list[str]:
    return [one.id for one in library.search(Query(text, filters)).incidents]


def test_without_words_the_newest_come_first(small: Library) -> None:
    assert ids(small) == ["IL-0002", "IL-0003", "IL-0004", "IL-0001"]


def test_a_code_never_finds_another(small: Library) -> None:
    for text in ("Xid 79", "xid79", "XID: 79", "Xid-79"):
        assert ids(small, text) == ["IL-0001"]


def test_joined_words_are_found_by_their_pieces() -> None:
    library = Library(
        [incident(1, en={"symptom": "94 GB of Llama 3"}), incident(2, terms={"symptom": ["loss-spike"]})]
    )
    assert ids(library, "94GB") == ids(library, "llama3") == ["IL-0001"]
    assert ids(library, "loss-spike") == ids(library, "loss spike") == ["IL-0002"]


def test_a_word_is_found_by_its_other_spellings(real: Library) -> None:
    for one, other in (
        ("에러", "오류"),
        ("네트웍", "네트워크"),
        ("구글", "Google"),
        ("바이트댄스", "ByteDance"),
    ):
        assert set(ids(real, other)) <= {found.id for found in real.search(Query(one), limit=500).incidents}
        assert ids(real, one)
    assert len(ids(real, "허깅페이스")) > 5
    assert ids(real, "k8s")


def test_every_word_must_match(small: Library) -> None:
    assert ids(small, "Xid logged") == ["IL-0002"]
    assert ids(small, "Xid nowhere") == []


def test_korean_finds_parts_of_words_in_either_spacing(small: Library) -> None:
    assert ids(small, "학습") == ids(small, "사전학습") == ids(small, "사전 학습") == ["IL-0003"]
    assert ids(small, "처리량을") == ["IL-0003"]


def test_a_name_in_one_language_finds_a_case_that_has_only_the_term(small: Library) -> None:
    assert ids(small, "InfiniBand 패브릭") == ids(small, "InfiniBand fabric") == ["IL-0004"]


def test_values_of_a_facet_are_alternatives_and_facets_narrow(small: Library) -> None:
    assert ids(small, year=("2021", "2023")) == ["IL-0004", "IL-0001"]
    assert ids(small, year=("2024",), symptom=("slowdown",)) == ["IL-0003"]
    assert ids(small, "Xid", year=("2021",)) == ["IL-0001"]


def test_words_without_a_letter_find_nothing(small: Library) -> None:
    assert small.search(Query("!!! ???")).total == 0


def test_recommended_are_what_the_words_name_and_not_what_is_chosen() -> None:
    library = Library(
        [
            incident(n, organisation="OpenAI" if n < 3 else "Meta", en={"symptom": "OpenAI hang"})
            for n in range(1, 6)
        ]
    )
    found = [(one.facet, one.value) for one in library.search(Query("OpenAI")).recommended]
    assert ("organisation", "OpenAI") in found
    chosen = library.search(Query("OpenAI", {"organisation": ("OpenAI",)})).recommended
    assert "organisation" not in [one.facet for one in chosen]
    assert library.search(Query("")).recommended == ()


def test_frequent_are_the_terms_of_the_answer(small: Library) -> None:
    frequent = small.search(Query("", {"year": ("2021", "2024")})).frequent
    assert ("symptom", "hang", 2) in [(one.facet, one.value, one.count) for one in frequent]


def test_a_case_is_found_by_its_id_and_by_one_merged_into_it(small: Library) -> None:
    assert small.get("il-0004").id == small.get("IL-0009").id == "IL-0004"
    with pytest.raises(Problem, match="no case 'IL-4711'"):
        small.get("IL-4711")


@given(libraries(), st.integers(0, 40), st.integers(1, 15))
def test_pages_cut_the_answer(library: Library, offset: int, limit: int) -> None:
    whole = library.search(Query("x"), limit=1000).incidents
    assert library.search(Query("x"), offset=offset, limit=limit).incidents == whole[offset : offset + limit]


@pytest.mark.parametrize("query", [lambda: Query("x" * 401), lambda: Query("", {"colour": ("red",)})])
def test_what_no_case_could_answer_is_refused(query: object) -> None:
    with pytest.raises(Problem):
        query()  # type: ignore[operator]


def test_a_folder_without_cases_is_named(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="no case"):
        files(tmp_path)
    with pytest.raises(Problem, match="cannot read"):
        files(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"also": ["IL-0001"]}, "already used by IL-0001.yaml"),
        ({"terms": {"cause": ["x"], "component": ["nccl"], "symptom": ["hang"]}}, "unknown cause 'x'"),
    ],
)
def test_a_folder_that_would_mislead_is_refused(tmp_path: Path, fields: dict[str, object], says: str) -> None:
    for name, case in (("IL-0001", CASE), ("IL-0002", CASE | {"id": "IL-0002"} | fields)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(case, allow_unicode=True), encoding="utf-8")
    with pytest.raises(Problem, match=says):
        Library.open(tmp_path)


def test_the_library_comes_with_the_package() -> None:
    assert len(files(home())) >= 150
