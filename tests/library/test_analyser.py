from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.library.analyser import codes, fold, forms, pairs, spellings, stem, tokens, units

SHM = "/dev/shm"  # noqa: S108


def test_hangul_becomes_pairs_and_a_pair_across_a_space_is_marked() -> None:
    assert tokens("사전 학습이 시작됐다") == [
        "사전",
        "전_학",
        "학습",
        "습이",
        "이_시",
        "시작",
        "작됐",
        "됐다",
    ]
    assert pairs("값") == ("값",)


@pytest.mark.parametrize("between", [". ", "-", ", ", "\n\n(", " GPU "])
def test_runs_that_something_else_parts_are_not_joined(between: str) -> None:
    assert "습_사" not in tokens(f"학습{between}사전")


def test_latin_words_stay_whole_with_stem_and_parts() -> None:
    assert tokens("NCCL 2.30.7 at /dev/shm, CUDA_ERROR_802.") == [
        "nccl",
        "2.30.7",
        "at",
        SHM,
        "cuda_error_802",
    ]
    assert {"hang", SHM, "shm", "cuda_error_802", "802", "error802"} <= forms("hangs /dev/shm CUDA_ERROR_802")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Xid 79", ["xid", "xid79"]),
        ("XID: 79", ["xid", "xid79"]),
        ("xid79가", ["xid", "xid79"]),
        ("NVRM: Xid (PCI:0000:3b:00): 79, pid=1", ["xid", "xid79"]),
        ("Xid 48, 63, and nothing", ["xid", "xid48", "xid63"]),
        ("Xid 48 and 63.", ["xid", "xid48", "xid63"]),
        ("Xid 79 on 8 GPUs", ["xid", "xid79"]),
        ("79 boxes", []),
        ("version 1.79", []),
    ],
)
def test_a_code_belongs_to_its_number(text: str, expected: list[str]) -> None:
    assert list(codes(fold(text))) == expected


def test_a_query_is_split_into_its_words() -> None:
    assert [unit.key for unit in units("the Xid 79가 나온 노드를")] == ["xid79", "나온", "노드를"]
    assert units("노드를")[0].forms == ("노드",)
    assert [unit.key for unit in units("the")] == ["the"]
    assert units("!!! ...") == []


def test_a_run_also_matches_with_one_space_inside() -> None:
    assert spellings("사전학습") == [("사전", "전학", "학습"), ("사전", "전_학", "학습")]
    assert spellings("학습") == [("학습",)]


def test_stems_are_of_english_words_only() -> None:
    assert (stem("crashed"), stem("gpu"), stem("h100")) == ("crash", "gpu", "h100")


@given(st.text(max_size=200))
def test_any_text_can_be_analysed(text: str) -> None:
    assert all(token and " " not in token for token in [*tokens(text), *forms(text)])
    assert len(units(text)) <= len(fold(text))


@given(st.text(alphabet="가나다라마바사", min_size=2, max_size=8), st.text(alphabet="가나다라", max_size=4))
def test_a_run_is_found_inside_a_longer_one(run: str, more: str) -> None:
    wanted, there = list(pairs(run)), tokens(f"{more}{run}{more}")
    assert any(there[at : at + len(wanted)] == wanted for at in range(len(there)))
