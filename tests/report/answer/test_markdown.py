from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.report.answer.made import answer, hostile, nothing

from evenpace.report.answer.markdown import fenced, harmless, to_markdown

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OURS = {"text", "softbreak", "code_inline", "strong_open", "strong_close"}
# What code hosts make links of by themselves, outside code.
CALLS = re.compile(r"@\w|#\d|://|www\.|\bGH-\d|mailto:")


def tokens(text: str) -> Iterator[Token]:
    for token in READER.parse(text):
        yield from token.children if token.children is not None else [token]


def shape(text: str) -> list[str]:
    return [token.type for token in READER.parse(text)]


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_golden(golden: Callable[[str, str], None], lang: str) -> None:
    golden(f"answer-{lang}.md", to_markdown(answer(lang)))


def test_what_logs_hold_changes_nothing_of_the_page(trick: str) -> None:
    page = to_markdown(hostile(trick))
    assert shape(page) == shape(to_markdown(hostile("plain\nplain" if "\n" in trick else "plain")))
    assert {
        token.type for token in tokens(page) if token.type.endswith(("link_open", "image", "_inline"))
    } <= {"code_inline"}
    assert not {"\x1b", "\x9b", "\u202e", "\u2028"} & set(page)
    page.encode()


def test_nobody_is_called_and_nothing_is_linked(trick: str) -> None:
    for token in tokens(to_markdown(hostile(trick))):
        assert token.type != "text" or not CALLS.search(token.content)


@given(st.text() | st.text(alphabet="`*_[]()<>!#@-=1. \\|~a&;:/$\n"))
def test_any_text_is_one_paragraph_of_text(text: str) -> None:
    blocks = READER.parse(harmless(text))
    assert [block.type for block in blocks] in ([], ["paragraph_open", "inline", "paragraph_close"])
    for token in tokens(harmless(text)):
        assert token.type in {"text", "code_inline", "paragraph_open", "paragraph_close"}
        assert token.type != "text" or not CALLS.search(token.content)


@given(st.text() | st.text(alphabet="`~\n \ta"))
def test_any_text_stays_in_its_block(text: str) -> None:
    (block,) = READER.parse(fenced(text))
    assert (block.type, block.info) == ("fence", "text")
    for indent in ("   ",):
        page = f"1. step\n\n{fenced(text, 'sh', indent)}\n2. step\n"
        assert [token.type for token in READER.parse(page)].count("ordered_list_open") == 1
        assert [token.content for token in READER.parse(page) if token.type == "fence"] == [block.content]


def test_our_own_code_stays_code() -> None:
    assert harmless("run `nvidia-smi -q` on a_b") == "run `nvidia-smi -q` on a\\_b"


def test_nothing_found() -> None:
    page = to_markdown(nothing())
    assert page.startswith("Nothing found")
    assert "a.log:3  warning: slow" in page
