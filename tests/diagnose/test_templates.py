from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.diagnose.made import line

from evenpace.diagnose import templates
from evenpace.diagnose.templates import Tree, mask


def grown(*texts: str) -> Tree:
    tree = Tree()
    for text in texts:
        tree.add(line(text))
    return tree


def test_lines_that_differ_in_numbers_are_one_template() -> None:
    tree = grown("rank 3 lost 10.0.0.7:4000", "rank 12 lost 10.0.0.9:4100")
    assert [one.count for one in tree.templates] == [2]


def test_words_that_differ_become_a_wildcard() -> None:
    tree = grown("open of file failed for alice today", "open of file failed for bob today")
    assert [one.text for one in tree.templates] == ["open of file failed for <*> today"]


def test_different_messages_are_different_templates() -> None:
    assert len(grown("disk is full", "link is down", "disk was slow and is full").templates) == 3


def test_paths_and_addresses_are_masked() -> None:
    assert mask("at 0x7f3a /srv/a/b.py:12 id 5c0e91b7-33d2-40af-8e16-c7a2f90b14d8") == "at <*> <*>:<*> id <*>"


def test_growth_is_bounded(monkeypatch: object) -> None:
    before = templates.MOST_TEMPLATES
    templates.MOST_TEMPLATES = 3
    try:
        tree = grown(*("x " * count for count in range(1, 10)))
    finally:
        templates.MOST_TEMPLATES = before
    assert len(tree.templates) == 3
    assert tree.overflow == 6


@given(st.lists(st.text(max_size=60), max_size=30))
def test_every_line_is_counted_once(texts: list[str]) -> None:
    tree = grown(*texts)
    assert sum(one.count for one in tree.templates) + tree.overflow == len(texts)


@given(
    st.lists(st.sampled_from(["a b c", "a b d", "x y", "rank 1 up", "rank 2 up"]), max_size=30), st.randoms()
)
def test_counts_do_not_depend_on_the_order(texts: list[str], random: object) -> None:
    shuffled = list(texts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    both = [sorted(one.count for one in grown(*each).templates) for each in (texts, shuffled)]
    assert both[0] == both[1]
