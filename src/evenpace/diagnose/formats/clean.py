"""Bytes to text, and text without what a terminal would have interpreted: colours, cursor moves, redraws."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 16 * 1024  # characters of a record that are kept

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_SAMPLE = 1 << 16
_ESCAPE = re.compile(
    r"\x1b(?:"
    r"\[[0-?]{0,64}[ -/]{0,8}[@-~]?"  # CSI: colours, cursor moves
    r"|\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|[PX^_][^\x1b\n]{0,4096}(?:\x1b\\)?"  # DCS, SOS, PM, APC
    r"|[ -/]{0,4}[0-~]?"
    r")"
)
_SPELLED = re.compile(r"(?:\^\[|\u241b|#033|\\x1b|\\033|\\u001b)\[[0-9;?]{0,32}[A-Za-z]")
_ORPHAN = re.compile(r"\[(?:\d{1,3}(?:;\d{1,3}){0,6})?m")
_RUN_OF_BACKSPACES = re.compile(r"\x08{4,}")
_BACKSPACE = re.compile(r"[^\x08\r\n]\x08|\x08")
_BLANKS = re.compile(r"[\x0b\x0c\xa0]")
_CONTROL = re.compile(
    "[\\x00-\\x08\\x0e-\\x1f\\x7f-\\x9f\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ufeff]"
)
_SURROGATE = re.compile("[\\ud800-\\udfff]")
_BAR = re.compile(
    r"\d%\s{0,2}[|\[(\u2501\u2588-\u258f#=>]"
    r"|\d(?:[kMGT]i?B?)?/\??\d?[\d.,kMGTiB]{0,12}\s{0,2}\[\d{1,4}:\d\d"
    r"|\d[kMGT]?\s?(?:[a-z]{1,12}|B)? \[\d{1,4}:\d\d(?:[,<\]]|:\d\d[,<\]])"
    r"|[\u2501\u2588\u2578]{4}|\[[=#>]{2,200}[.\s>-]{0,200}\]"
)
_GOING = re.compile(r"\d\s?%|\d\s?/\s?\d|\d\s?(?:it|s|B)/s|\bETA\b|eta ")
_DIGITS = re.compile(r"[\d.,:]{1,32}")
_PAINT = re.compile(r"[\u2500-\u259f#=>\s-]{2,400}")


def decode(data: bytes) -> str:
    """Return bytes as text: by their byte order mark, else UTF-8, else Latin-1 if they clearly are."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    text = data.decode("utf-8", "replace")
    return data.decode("latin-1") if _is_latin(data[:_SAMPLE], text[:_SAMPLE]) else text


def _is_latin(data: bytes, text: str) -> bool:
    """Tell Latin-1 from damaged UTF-8: single high letters, no multi-byte letter, hardly any control byte."""
    wrong = text.count("\ufffd")
    if not wrong or any(letter > "\x7f" and letter != "\ufffd" for letter in text):
        return False
    letters = sum(byte >= 0xC0 for byte in data)
    high = sum(byte >= 0x80 for byte in data)
    return b"\0" not in data and letters * 10 >= high * 9 and high * 4 <= len(data)


def clean(text: str) -> str:
    """Return text without escapes and control characters; line feeds, tabs and carriage returns stay."""
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "[0m" in text:
        text = _ORPHAN.sub("", _SPELLED.sub("", text))
    elif any(spelled in text for spelled in ("^[[", "\u241b[", "#033[", "\\x1b[", "\\033[", "\\u001b[")):
        text = _SPELLED.sub("", text)
    if "\r\n" in text:
        text = re.sub(r"\r{1,8}\n", "\n", text)
    if "\x08" in text:
        text = _without_backspaces(text)
    if not text.replace("\n", "").replace("\t", "").isprintable():
        text = _CONTROL.sub("", _BLANKS.sub(" ", _SURROGATE.sub("\ufffd", text)))
    return text


def _without_backspaces(text: str) -> str:
    text = _RUN_OF_BACKSPACES.sub("\r", text)
    for _ in range(4):
        if "\x08" not in text:
            break
        text = _BACKSPACE.sub("", text)
    return text


def is_bar(text: str) -> bool:
    """Tell whether a record holds a progress bar."""
    return _BAR.search(text, 0, 2048) is not None


def segments(line: str) -> Iterator[str]:
    """Yield what was written over one another by carriage returns, without redraws of the same bar."""
    last, last_key = "", None
    for segment in line.split("\r"):
        if not segment.strip():
            continue
        key = redraw_key(segment)
        if last and (key is None or key != last_key):
            yield last
        last, last_key = segment, key
    if last:
        yield last


def redraw_key(segment: str) -> str | None:
    """Return what all redraws of one bar have in common, or None if the text is no bar or more than one."""
    if len(segment) > 1024 or not (_GOING.search(segment) or is_bar(segment)):
        return None
    if end := bar_end(segment):
        if segment[end:].strip():
            return None
        segment = segment[: segment.rfind("[", 0, end)]
    return _PAINT.sub(" ", _DIGITS.sub("0", segment)).strip(" 0|?")[:64]


_BAR_END = re.compile(
    r"(?:\d(?:[kMGT]i?B?)?/\??[\d.,kMGTiB?]{1,12}|\d[kMGT]?\s?(?:[a-z]{1,12}|B)?)\s{0,2}"
    r"\[\d{1,4}:\d\d[^\[\]]{0,300}(?:\[[^\[\]]{0,60}\][^\[\]]{0,200}){0,3}\]"
)


def bar_end(text: str, start: int = 0) -> int:
    """Return where the first bar of the tqdm kind that begins after `start` ends, or 0."""
    found = _BAR_END.search(text, start)
    return found.end() if found else 0
