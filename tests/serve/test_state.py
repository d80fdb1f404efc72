from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.errors import Problem
from evenpace.library.catalogue import Query
from evenpace.serve.state import State, preferred, read_state
from evenpace.terms import facets

SLUGS = {facet: sorted(facets()[facet])[:6] for facet in ("cause", "component", "symptom", "factor")}


def states() -> st.SearchStrategy[State]:
    chosen = {
        facet: st.lists(st.sampled_from(slugs), max_size=3, unique=True) for facet, slugs in SLUGS.items()
    }
    names = st.text("abc 가나", max_size=8).map(str.strip)
    filters = st.fixed_dictionaries(chosen | {"organisation": st.lists(names, max_size=2, unique=True)}).map(
        lambda drawn: {facet: tuple(filter(None, values)) for facet, values in drawn.items() if any(values)}
    )
    words = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=9)
    queries = st.builds(Query, st.lists(words.filter(bool), max_size=6).map(" ".join), filters)
    return st.builds(State, queries, st.integers(1, 999), st.sampled_from(["en", "ko"]))


@given(states())
def test_an_address_says_all_of_a_state(state: State) -> None:
    address = state.url("/library")
    assert read_state(parse_qsl(urlsplit(address).query, keep_blank_values=True)) == state


@given(states(), st.sampled_from([(facet, slug) for facet, slugs in SLUGS.items() for slug in slugs]))
def test_a_value_is_chosen_and_taken_back(state: State, pair: tuple[str, str]) -> None:
    chosen = state.with_value(*pair)
    assert pair[1] in chosen.query.filters[pair[0]]
    assert pair[1] not in chosen.without(*pair).query.filters.get(pair[0], ())
    assert chosen.page == 1


def test_repeats_and_commas_are_alternatives() -> None:
    state = read_state(
        [("cause", "unknown,overload"), ("cause", "unknown"), ("year", "2024"), ("other", "x")]
    )
    assert state.query.filters == {"cause": ("unknown", "overload"), "year": ("2024",)}
    assert state.cleared() == State()


def test_words_are_one_line_without_control_characters() -> None:
    assert read_state([("q", " NCCL\x00\n\x1b  hang ")]).query.text == "NCCL hang"


@pytest.mark.parametrize(
    "pair",
    [
        ("lang", "fr"),
        ("page", "0"),
        ("page", "x"),
        ("page", "9" * 30),
        ("page", "²"),
        ("cause", "nowhere"),
        ("q", "x" * 401),
        ("scope", "moon"),
        ("year", "20x4"),
        ("year", "٢٠٢٤"),
        ("organisation", "x" * 81),
    ],
)
def test_what_cannot_be_meant_is_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(Problem):
        read_state([pair])


def test_too_many_values_are_refused() -> None:
    with pytest.raises(Problem, match="at most 40"):
        read_state([("year", ",".join(map(str, range(1900, 1950))))])


@pytest.mark.parametrize(
    ("header", "lang"),
    [
        ("ko-KR,ko;q=0.9,en;q=0.8", "ko"),
        ("en-US,ko;q=0.5", "en"),
        ("fr,ko;q=0.5", "ko"),
        ("", "en"),
        ("\x00;;,,", "en"),
    ],
)
def test_the_browsers_first_language_that_we_have(header: str, lang: str) -> None:
    assert preferred(header) == lang
