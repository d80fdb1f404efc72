"""Group lines by what they have in common: a fixed-depth tree of templates.

The method of Drain (He et al., ICWS 2017): lines of equal length in words, split by their first words, join
the template that shares most of their words; words that differ become a wildcard. Numbers, addresses and
paths are masked first, so that a line of rank 3 and one of rank 5 are one template.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from evenpace.diagnose.model import Line

WILD = "<*>"
ALIKE = 0.5  # share of equal words from which a line belongs to a template
DEPTH = 2  # words that lead to a leaf
MOST_TEMPLATES = 5000
MOST_WORDS = 64
_VARIABLE = re.compile(
    r"0x[0-9a-fA-F]{1,32}|/[\w.+@-]{1,255}(?:/[\w.+@-]{1,255}){1,32}|[0-9a-f]{8}-[0-9a-f-]{9,28}|\d[\d.,:]{0,40}"
)


@dataclass(slots=True)
class Template:
    """Hold a template: its words, the first and the last line that had it, and how many there were."""

    words: list[str]
    first: Line
    last: Line
    count: int = 0

    @property
    def text(self) -> str:
        """Return the template as one line."""
        return " ".join(self.words)


@dataclass(slots=True)
class Tree:
    """Sort lines into templates, one by one; bounded in size, after which new kinds are only counted."""

    templates: list[Template] = field(default_factory=list)
    overflow: int = 0
    _leaves: dict[tuple[object, ...], list[Template]] = field(default_factory=dict)

    def add(self, line: Line) -> Template | None:
        """Return the template that the line belongs to."""
        words = mask(line.text).split()[:MOST_WORDS]
        leaf = self._leaves.setdefault(_way(words), [])
        best = max(leaf, key=lambda one: _shared(one.words, words), default=None)
        if best is None or _shared(best.words, words) < ALIKE:
            best = self._new(words, line, leaf)
        if best is not None:
            _take(best, words, line)
        return best

    def _new(self, words: list[str], line: Line, leaf: list[Template]) -> Template | None:
        if len(self.templates) >= MOST_TEMPLATES:
            self.overflow += 1
            return None
        template = Template(list(words), line, line)
        leaf.append(template)
        self.templates.append(template)
        return template


def mask(text: str) -> str:
    """Return a line with its numbers, addresses, identifiers and paths as wildcards."""
    return _VARIABLE.sub(WILD, text)


def _way(words: Sequence[str]) -> tuple[object, ...]:
    return (len(words), *(WILD if WILD in word else word for word in words[:DEPTH]))


def _shared(template: Sequence[str], words: Sequence[str]) -> float:
    if not words:
        return 1.0
    return sum(one == other for one, other in zip(template, words, strict=True)) / len(words)


def _take(template: Template, words: Sequence[str], line: Line) -> None:
    template.words = [one if one == other else WILD for one, other in zip(template.words, words, strict=True)]
    template.count += 1
    template.last = line
