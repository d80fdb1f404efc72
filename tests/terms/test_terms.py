"""The vocabulary and the sentences: complete in both languages, and safe to use."""

from __future__ import annotations

import ast
import re
import string
import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenpace
from evenpace import terms

PHRASES = Path(terms.__file__).parent / "phrases"
MAIN_JOB = {
    "communication-hang",
    "non-communication-hang",
    "communication-slow",
    "non-communication-slow",
    "slow-throughput",
    "user-code-exception",
    "worker-killed",
    "node-lost",
    "collective-desync",
    "deadlock",
    "data-loader",
    "launch-rendezvous",
}

SEED_LABELS = [
    ("component", "gpu-hw", "GPU 하드웨어·메모리"),
    ("component", "ib-fabric", "InfiniBand 패브릭"),
    ("component", "nccl", "NCCL"),
    ("component", "gpu-driver", "GPU 드라이버"),
    ("symptom", "gpu-not-visible", "GPU 인식 불가"),
    ("factor", "monitoring-blind-spot", "모니터링 사각지대"),
]
# An ECC error is what broke, and also what is seen.
SHARED = {"eccerror", "ecc오류"}
BROAD = "error failure fault gpu node training 오류 장애 고장 학습 노드 원인"


def all_terms() -> list[terms.Term]:
    return [term for facet in terms.facets().values() for term in facet.values()]


def spelled(name: str) -> str:
    """Return what names are compared by: without case, spaces and joining marks."""
    return re.sub(r"[\s·/-]", "", name.casefold())


def is_korean(text: str) -> bool:
    return any("가" <= letter <= "힣" for letter in text)


def placeholders(template: str) -> Counter[str]:
    """Count the values that a template asks for; formats may differ between languages, names may not."""
    return Counter(name for _, name, _, _ in string.Formatter().parse(template) if name is not None)


def test_facets_are_those_of_the_finding() -> None:
    assert set(terms.facets()) == {"symptom", "component", "cause", "factor", "fault"}


def test_what_the_main_job_names_is_in_the_vocabulary() -> None:
    assert set(terms.facets()["fault"]) >= MAIN_JOB


@pytest.mark.parametrize("term", all_terms(), ids=lambda term: f"{term.facet}/{term.slug}")
def test_term_is_complete(term: terms.Term) -> None:
    assert set(term.slug) <= set(string.ascii_lowercase + string.digits + "-")
    assert term.en
    assert term.ko
    assert term.definition.endswith(".")
    assert term.definition_ko.endswith(".")
    assert bool(term.synonyms) == (term.facet != "fault")


@pytest.mark.parametrize(
    "term", [one for one in all_terms() if one.facet != "fault"], ids=lambda term: f"{term.facet}/{term.slug}"
)
def test_term_is_found_in_both_languages(term: terms.Term) -> None:
    assert 2 <= len(term.synonyms) <= 10
    assert any(is_korean(word) for word in term.synonyms)
    assert not all(is_korean(word) for word in term.synonyms)
    assert not {word.casefold() for word in term.synonyms} & {term.en.casefold(), term.ko.casefold()}


def test_a_name_means_one_term_of_a_facet() -> None:
    for facet in terms.facets().values():
        meant = [{spelled(name) for name in (term.en, term.ko, *term.synonyms)} for term in facet.values()]
        assert [name for name, count in Counter(chain.from_iterable(meant)).items() if count > 1] == []


def test_a_synonym_is_shared_between_facets_only_on_purpose() -> None:
    meant = [
        {spelled(name) for term in facet.values() for name in term.synonyms}
        for facet in terms.facets().values()
    ]
    counts = Counter(chain.from_iterable(meant))
    assert {name for name, count in counts.items() if count > 1} == SHARED


def test_no_synonym_is_so_broad_that_it_means_nothing() -> None:
    assert {spelled(word) for term in all_terms() for word in term.synonyms} & set(BROAD.split()) == set()


@pytest.mark.parametrize(("facet", "slug", "label"), SEED_LABELS)
def test_labels_of_the_seed_pages_stay(facet: str, slug: str, label: str) -> None:
    assert terms.label(facet, slug, "ko") == label


def test_labels_are_unique_within_a_facet() -> None:
    for facet in terms.facets().values():
        assert len({term.en for term in facet.values()}) == len(facet)
        assert len({term.ko for term in facet.values()}) == len(facet)


def test_label_falls_back_to_english() -> None:
    assert terms.label("symptom", "straggler") == "Straggler"
    assert terms.label("symptom", "straggler", "ko") == "느린 노드(스트래글러)"
    assert terms.label("symptom", "straggler", "fr") == "Straggler"


@pytest.mark.parametrize(
    ("facet", "slug", "says"),
    [
        ("fault", "dedlock", "no fault term 'dedlock'; did you mean 'deadlock'?"),
        ("falt", "deadlock", "no facet 'falt'; did you mean 'fault'?"),
        ("zzz", "deadlock", "no facet 'zzz'; known: symptom, component, cause, factor, fault"),
    ],
)
def test_unknown_term_is_a_clear_key_error(facet: str, slug: str, says: str) -> None:
    with pytest.raises(KeyError) as caught:
        terms.term(facet, slug)
    assert str(caught.value) == says


def spoken() -> set[tuple[str, str]]:
    """Return (facet, slug) of each term that the source writes into a finding."""
    found = set()
    for path in Path(evenpace.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                found |= set(terms_of(call, call.func.id))
    return found


def terms_of(call: ast.Call, function: str) -> Iterator[tuple[str, str]]:
    if function == "make" and call.args:
        yield from (("fault", slug) for slug in strings(call.args[0]))
    for keyword in call.keywords:
        if function == "Terms" or (function == "Finding" and keyword.arg == "fault"):
            yield from ((str(keyword.arg), slug) for slug in strings(keyword.value))


def strings(node: ast.expr) -> list[str]:
    return [
        one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]


def test_findings_speak_the_vocabulary() -> None:
    known = {(facet, slug) for facet, found in terms.facets().items() for slug in found}
    assert ("symptom", "hang") in spoken()
    assert spoken() - known == set()


def test_callers_cannot_change_the_vocabulary() -> None:
    terms.facets()["fault"].clear()
    assert terms.facets()["fault"]


def test_no_sentence_is_defined_twice() -> None:
    keys = Counter(key for path in PHRASES.glob("*.toml") for key in tomllib.loads(path.read_text("utf-8")))
    assert [key for key, count in keys.items() if count > 1] == []


@pytest.mark.parametrize("key", sorted(terms.phrases()))
def test_sentence_says_the_same_in_both_languages(key: str) -> None:
    sentence = terms.phrases()[key]
    assert set(sentence) == set(terms.LANGUAGES)
    assert all(text.strip() for text in sentence.values())
    assert set(placeholders(sentence["en"])) == set(placeholders(sentence["ko"]))


@pytest.fixture
def sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "late": {"en": "rank {rank} is {seconds:.1f} s late", "ko": "rank {rank}이(가) {seconds:.1f}초 늦음"},
        "broken": {"en": "{unclosed", "ko": "{0} {rank.x}"},
    }
    monkeypatch.setattr(terms, "phrases", lambda: texts)


@pytest.mark.usefixtures("sentences")
@pytest.mark.parametrize(
    ("lang", "details", "says"),
    [
        ("en", {"rank": 3, "seconds": 1.25}, "rank 3 is 1.2 s late"),
        ("ko", {"rank": 3, "seconds": 1.25}, "rank 3이(가) 1.2초 늦음"),
        ("fr", {"rank": 3, "seconds": 1.25}, "rank 3 is 1.2 s late"),
        ("en", {"rank": 3}, "rank 3 is {seconds} s late"),
        ("en", {}, "rank {rank} is {seconds} s late"),
        ("en", {"rank": 3, "seconds": "x"}, "rank {rank} is {seconds:.1f} s late (rank=3, seconds=x)"),
    ],
)
def test_say_fills_what_it_has(lang: str, details: dict[str, object], says: str) -> None:
    assert terms.say("late", lang, **details) == says


@pytest.mark.parametrize(
    ("count", "says"),
    [
        (0, "0 steps are late"),
        (1, "1 step is late"),
        (2, "2 steps are late"),
        (np.int64(1), "1 step is late"),
    ],
)
def test_words_follow_the_number_of_what_they_count(
    monkeypatch: pytest.MonkeyPatch, count: int, says: str
) -> None:
    texts = {"late": {"en": "{count} {count:step is|steps are} late", "ko": "step {count:,}개 늦음"}}
    monkeypatch.setattr(terms, "phrases", lambda: texts)
    assert terms.say("late", count=count) == says
    assert terms.say("late", "ko", count=count) == f"step {count}개 늦음"
    assert terms.say("late", count=None).startswith("{count} {count:step is|steps are} late (count=None)")
    assert terms.say("late") == "{count} {count} late"


def test_a_missing_sentence_shows_its_key() -> None:
    assert terms.say("no-such-sentence", node="n1", rank=0) == "[no-such-sentence] (node=n1, rank=0)"


@pytest.mark.usefixtures("sentences")
@pytest.mark.parametrize("lang", terms.LANGUAGES)
def test_a_broken_sentence_is_shown_and_not_raised(lang: str) -> None:
    assert "rank=1" in terms.say("broken", lang, rank=1)


@given(
    key=st.sampled_from(sorted(terms.phrases()) or ["none"]),
    lang=st.sampled_from(["en", "ko", "xx"]),
    details=st.dictionaries(
        st.sampled_from(["rank", "node", "seconds", "ratio", "ranks", "path", "count", "group"]),
        st.one_of(st.none(), st.text(), st.integers(), st.floats(), st.lists(st.integers())),
    ),
)
def test_say_never_raises(key: str, lang: str, details: dict[str, object]) -> None:
    assert terms.say(key, lang, **details)
