"""Text to search tokens, the same for English and Korean, for the index and for a query.

Korean is not split into words: a run of Hangul becomes overlapping pairs of syllables, so that 학습 is
found in 학습이 and in 사전학습 without a dictionary, and the pairs' order makes it exact. Latin words and
numbers stay whole, with their stem and parts beside them. Codes such as `Xid 79` become one token, so that
79 belongs to its Xid.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

LONGEST_WORD = 64
_HANGUL = "\uac00-\ud7a3"
_WORD = re.compile(rf"[{_HANGUL}]+|/?[a-z0-9](?:[a-z0-9]|[._/+#-](?=[a-z0-9]))*")
_NUMBERED = r"(xid|sxid|error)(?: ?\(pci:[0-9a-f:.]{1,20}\))?(?: ?[:#]? ?|[_-])([0-9]{1,5})(?![0-9.])"
_CODE = re.compile(rf"\b{_NUMBERED}")
_CODE_IN_WORD = re.compile(rf"(?:\b|_){_NUMBERED}")
_MORE = re.compile(r" ?(?:,|/|and|or|와|과|및) ?([0-9]{1,3})(?=[,.;)/]|$| and | or )")
_PARTS = re.compile(r"[a-z0-9]+")
_PIECES = re.compile(r"[a-z]+|[0-9]+")
_STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "at",
        "by",
        "for",
        "from",
        "in",
        "is",
        "of",
        "on",
        "or",
        "the",
        "to",
        "was",
        "were",
        "with",
    ]
)
# Particles that a noun of a query may carry; the text carries others.
_JOSA = (
    "에서",
    "으로",
    "에게",
    "까지",
    "부터",
    "을",
    "를",
    "이",
    "가",
    "은",
    "는",
    "의",
    "에",
    "로",
    "와",
    "과",
    "도",
)


@dataclass(frozen=True, slots=True)
class Unit:
    """Hold one word of a query: a run of Hangul, a Latin word or number, or a code.

    `key` is what must match; `forms` are other spellings that may match instead.
    """

    key: str
    hangul: bool = False
    forms: tuple[str, ...] = ()


def fold(text: str) -> str:
    """Bring a text to one spelling: NFKC, lower case, one space between words."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def analyse(text: str) -> tuple[list[str], set[str]]:
    """Return the tokens and the forms of a text, in one pass."""
    folded = fold(text)
    found: list[str] = []
    latin: set[str] = set()
    end, last = -1, ""  # of the run of Hangul before
    for match in _WORD.finditer(folded):
        word = match.group()
        if not _is_hangul(word):
            found.append(word[:LONGEST_WORD])
            latin.add(word[:LONGEST_WORD])
            end = -1
            continue
        start = match.start()
        if start == end + 1 and folded[end] == " ":
            found.append(f"{last}_{word[0]}")
        found += pairs(word)
        end, last = match.end(), word[-1]
    return found, set(codes(folded)).union(*map(_latin_forms, latin))


def tokens(text: str) -> list[str]:
    """Return a text's tokens in order: whole words, pairs of syllables, and pairs across a space."""
    return analyse(text)[0]


def forms(text: str) -> set[str]:
    """Return the other forms that a Latin word or code of the text is found by: stems, parts, codes."""
    return analyse(text)[1]


@lru_cache(maxsize=50_000)
def pairs(run: str) -> tuple[str, ...]:
    """Return the overlapping pairs of syllables of a run of Hangul; a single syllable stays itself."""
    return tuple(run[i : i + 2] for i in range(len(run) - 1)) or (run,)


def codes(folded: str) -> Iterator[str]:
    """Yield the numbered codes of a folded text, one token each: `xid 79` → `xid79`, also in lists."""
    for match in _CODE_IN_WORD.finditer(folded):
        yield match.group(1)
        yield match.group(1) + match.group(2)
        at = match.end()
        while more := _MORE.match(folded, at):
            yield match.group(1) + more.group(1)
            at = more.end()


def units(text: str) -> list[Unit]:
    """Split a query into its words; a code is one of them."""
    folded = fold(text)
    found: list[Unit] = []
    at = 0
    for match in _CODE.finditer(folded):
        found += _plain_units(folded[at : match.start()])
        found.append(Unit(match.group(1) + match.group(2)))
        at = match.end()
    found += _plain_units(folded[at:])
    return [unit for unit in found if unit.key not in _STOP] or found


def pieces(word: str) -> tuple[str, ...]:
    """Return what a joined word consists of: `loss-spike`, `94gb`; nothing for a word of one piece."""
    found = tuple(_PIECES.findall(word))
    letters = [piece for piece in found if piece.isalpha()]
    return found if len(found) > 1 and letters and all(len(piece) > 1 for piece in letters) else ()


def spellings(run: str) -> list[tuple[str, ...]]:
    """Return the token sequences that a run of Hangul matches: as written, and with one space inside it."""
    whole = pairs(run)
    return [whole] + [(*whole[: i - 1], f"{run[i - 1]}_{run[i]}", *whole[i:]) for i in range(2, len(run) - 1)]


def stem(word: str) -> str:
    """Return the English stem of a word of four letters or more; other words as they are."""
    return _stem(word) if len(word) >= 4 and word.isalpha() else word


def _plain_units(folded: str) -> list[Unit]:
    return [
        _unit(match.group()[:LONGEST_WORD])
        for match in _WORD.finditer(folded)
        if not (match.group() in _JOSA and folded[max(0, match.start() - 1) : match.start()] != " ")
    ]


def _unit(word: str) -> Unit:
    if not _is_hangul(word):
        return Unit(word)
    bare = tuple(
        word.removesuffix(josa) for josa in _JOSA if word.endswith(josa) and len(word) - len(josa) >= 2
    )
    return Unit(word, hangul=True, forms=bare[:1])


@lru_cache(maxsize=50_000)
def _latin_forms(word: str) -> frozenset[str]:
    parts = _PARTS.findall(word)
    return frozenset({word, stem(word), *parts, *(stem(part) for part in parts)})


def _is_hangul(word: str) -> bool:
    return "\uac00" <= word[0] <= "\ud7a3"


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return str(_stemmer().analyze(word)[0])


@lru_cache(maxsize=1)
def _stemmer():  # type: ignore[no-untyped-def]
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    return TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.stemmer("english")).build()
