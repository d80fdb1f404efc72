from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.terms import phrases, say
from evenpace.terms.retell import retell

NAMES = {
    "nodes": "n1.rack2, n3",
    "spares": "s1",
    "restarts": "3",
    "node": "n1.rack2",
    "rank": "5",
    "seconds": "60",
}
TOLD = [
    key
    for key in phrases()
    if key.startswith(("advice-", "missing-", "difference-", "decision-", "applying-"))
]


@pytest.mark.parametrize("key", TOLD)
def test_a_sentence_is_said_in_the_other_language_and_back(key: str) -> None:
    english, korean = say(key, "en", **NAMES), say(key, "ko", **NAMES)
    assert retell(english, "ko") == korean
    assert retell(korean, "en") == english
    assert retell(korean, "ko") == korean


NUMBERS = {
    "rank": "5",
    "seconds": 0.25,
    "lost": 0.125,
    "usual": 1.0,
    "source": "2",
    "target": "6",
}


@pytest.mark.parametrize("key", [key for key in phrases() if key.startswith("narrowed-")])
def test_numbers_are_found_in_a_sentence_too(key: str) -> None:
    english, korean = (say(key, lang, groups="g", **NUMBERS) for lang in ("en", "ko"))
    assert retell(english, "ko") == korean
    assert retell(korean, "en") == english


@given(st.text())
def test_other_text_stays_as_it_is(text: str) -> None:
    assert retell(text, "ko") == text


@given(st.text(min_size=1, max_size=20))
def test_whatever_a_node_is_called_nothing_is_lost(name: str) -> None:
    assert name in retell(say("advice-exclude-node", "en", node=name), "ko")
