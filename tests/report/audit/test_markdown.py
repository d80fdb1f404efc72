from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from tests.report.audit.made import aside, audit, clean, hostile, rendered


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_golden(golden: Callable[[str, str], None], lang: str) -> None:
    golden(f"audit-{lang}.md", rendered(audit(lang), "markdown"))


def test_short_where_all_is_well() -> None:
    told = rendered(clean(), "markdown")
    assert "**No gap found.**" in told
    assert "##" not in told
    assert "|" not in told


def test_what_does_not_count_is_told() -> None:
    assert "- no\\_restarts: gaps suppressed 3" in rendered(aside(), "markdown")


def outside_of_code(text: str) -> str:
    bare = re.sub(r"^( *)(`{3,})\w*\n.*?^\1\2$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]+`", "", bare)


def test_what_a_cluster_holds_is_no_markup(trick: str) -> None:
    """What stands outside code has the headings, links and tags that an honest cluster has."""
    bare, plain = (outside_of_code(rendered(hostile(one), "markdown")) for one in (trick, "plain"))
    for sign in (r"^#+ ", r"(?<!\\)\]\(", r"(?<!\\)<[a-z!/]", r"^```", r"(?<!\\)!\["):
        assert len(re.findall(sign, bare, re.MULTILINE)) == len(re.findall(sign, plain, re.MULTILINE))
    assert not re.search(r"(?<![\w`])@\w", bare)
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\u2028"} & set(bare)
