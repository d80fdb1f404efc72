"""Which codes a text asks for: `Xid 79`, `exitcode: -9`, `ncclSystemError`, or a bare number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evenpace.diagnose.catalogue import Code, of_name, of_number, said_in

_KINDS = ("xid", "exits", "signals", "nccl", "cuda", "errno", "ib")  # in which a bare number is looked up
_BARE = re.compile(r"\s*#?([-+]?\d{1,5})\s*[.:,]?\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,63}")
_MOST_TEXT = 1 << 16  # characters that are searched for codes
_MOST = 40
_SIGNALS = 64

_PATTERNS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("sxid", r"\bsxid(?: \([^)\n]{1,40}\))?[^\da-z\n]{0,3}(\d{4,5})\b"),
        ("xid", r"\bxid(?: \([^)\n]{1,40}\))?[^\da-z\n]{0,3}(\d{1,3})\b"),
        ("exits", r"\bexit(?:ed|s)?[ _-]?(?:with )?(?:code|status|value)?[^\w\n-]{0,8}(-?\d{1,3})\b"),
        ("exits", r"\b(?:return[ _]?code|rc)[^\w\n-]{0,4}(-?\d{1,3})\b"),
        ("signals", r"\bsig(?:nal)?[^\w\n]{0,3}(\d{1,2})\b"),
        ("signals", r"\b(\d{1,2}) death signal\b"),
        ("errno", r"\berrno[^\w\n-]{0,3}-?(\d{1,3})\b"),
        (
            "cuda",
            r"\bcuda[ _]?(?:runtime |driver )?(?:error|failure|status|result)(?: code)?[^\w\n]{0,3}"
            r"(\d{1,3})\b",
        ),
        ("cuda", r"^\s*cuda[ :=]{0,3}(\d{1,3})\s*$"),
        ("nccl", r"\bnccl[ _]?(?:error|failure|status|result)(?: code)?[^\w\n]{0,3}(\d)\b"),
        ("nccl", r"^\s*nccl[ :=]{0,3}(\d)\s*$"),
        ("ib", r"\bcompletion from peer [^\n]{1,120}?(?:error|status)[ =:]{1,2}(\d{1,2})\b"),
        ("ib", r"^\s*(?:error|status|wc|ib(?:v_wc)?(?: status| error)?)[ =:]{1,3}(\d{1,2})\s*(?:[,;]|$)"),
        ("ib", r"\bvendor[ _]err(?:or)?[^\w\n]{0,3}(\d{1,3})\b"),
    )
)
_NEEDS = {
    "cuda": "cuda",
    "nccl": "nccl",
    "ib": "",
}  # words that must be there too, for codes known by what is said
_ENDED = re.compile(r"(?:^|[\s:])([A-Z][A-Za-z0-9 ]{2,32}?)(?: \(core dumped\))?[.!]?\s*$")


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold a code that a text asks for.

    `title` is set where it is more than the code's own. `by_words`: the text has its words, not its name.
    """

    code: Code
    key: str
    title: str = ""
    by_words: bool = False


def asked_codes(text: str) -> tuple[Asked, ...]:
    """Return the codes that `text` names, each once, in the order of how plainly it does."""
    text = text[:_MOST_TEXT]
    found: dict[str, Asked] = {}
    for asked in (*_bare(text), *_numbered(text), *_named(text), *_said(text)):
        found.setdefault(asked.key, asked)
    return tuple(found.values())[:_MOST]


def _bare(text: str) -> Iterator[Asked]:
    if not (whole := _BARE.fullmatch(text)):
        return
    number = int(whole[1])
    if number < 0:
        yield from _exit(number)
        yield from _known("errno", -number)
        return
    for kind in ("sxid", *_KINDS):
        yield from _exit(number) if kind == "exits" else _known(kind, number)


def _numbered(text: str) -> Iterator[Asked]:
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            number = int(match[1])
            yield from _exit(number) if kind == "exits" else _known(kind, number)


def _known(kind: str, number: int) -> Iterator[Asked]:
    if code := of_number(kind, number):
        yield Asked(code, code.key)


def _exit(number: int) -> Iterator[Asked]:
    """Yield an exit code; 128 + n and -n mean that signal n ended the process."""
    signal = -number if number < 0 else number - 128
    if 0 < signal <= _SIGNALS and (code := of_number("signals", signal)):
        sum_ = f"-{signal}" if number < 0 else f"128 + {signal}"
        title = f"exit code {number}" + (f" = {sum_}" if number > 0 else "")
        yield Asked(code, f"exits-{number}", f"{title}: {code.title}")
    else:
        yield from _known("exits", number)


def _named(text: str) -> Iterator[Asked]:
    for name in dict.fromkeys(_NAME.findall(text)):
        yield from (Asked(code, code.key) for code in of_name(name))


def _said(text: str) -> Iterator[Asked]:
    folded = text.casefold()
    ended = _ENDED.search(text)
    for code in said_in(text):
        if code.kind == "signals":
            if ended and ended[1] in code.says:
                yield Asked(code, code.key, by_words=True)
        elif _NEEDS.get(code.kind, "") in folded:
            yield Asked(code, code.key, by_words=True)
