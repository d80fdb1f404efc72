from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenpace.library.clauses import (
    LONGEST_QUERY,
    MOST_CLAUSES,
    Sequence,
    Tag,
    Together,
    Word,
    clauses,
    named_terms,
)


def test_a_word_is_its_stem_and_a_run_is_a_sequence() -> None:
    (clause,) = clauses("zygotes")
    assert clause.ways == (Word("zygot"),)
    (clause,) = clauses("가나다")
    assert clause.ways == (Sequence(("가나", "나다")),)


def test_words_that_name_a_term_match_the_cases_that_carry_it() -> None:
    (clause,) = clauses("loss spikes")
    assert Tag("symptom", "loss-spike") in clause.ways
    assert isinstance(clause.ways[0], Together)
    assert Sequence(("손실", "실_급", "급등")) in clause.other_names


def test_a_korean_label_is_the_same_with_and_without_spaces() -> None:
    assert named_terms("손실급등") == named_terms("손실 급등") != []


def test_named_terms_are_found_within_a_line() -> None:
    assert ("symptom", "loss-spike") in [
        (term.facet, term.slug) for term in named_terms("after a loss spike we stopped")
    ]


@given(st.text(max_size=LONGEST_QUERY + 50))
def test_any_query_has_a_bounded_number_of_clauses(text: str) -> None:
    assert len(clauses(text)) <= MOST_CLAUSES
