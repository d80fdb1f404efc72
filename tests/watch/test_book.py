"""The book of findings: numbers, replacement, closing."""

from __future__ import annotations

from evenpace.findings import Finding, Severity, Subject
from evenpace.watch.book import FindingBook


def finding(summary: str) -> Finding:
    return Finding("deadlock", Severity.CRITICAL, 0.5, Subject(kind="job"), summary)


def test_a_later_word_on_the_same_trouble_keeps_its_number() -> None:
    book = FindingBook(0)
    first = book.say("slow", finding("unclear"), 1.0)
    other = book.say("hang", finding("hang"), 2.0)
    again = book.say("slow", finding("rank 2"), 3.0)
    assert (first.id, other.id, again.id) == (0, 1, 0)
    assert again.finding.summary == "rank 2"


def test_what_is_closed_is_closed_once_and_comes_again_under_another_number() -> None:
    book = FindingBook(0)
    book.say("slow", finding("a"), 1.0)
    assert [event.reason for event in book.close("slow", 2.0, 1.5, "relief", 7)] == ["relief"]
    assert book.close("slow", 2.0, 1.5, "relief") == []
    assert not book.is_open("slow")
    assert book.say("slow", finding("b"), 3.0).id == 1
