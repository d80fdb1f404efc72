"""Cleaning takes out what a terminal interprets and keeps every word that a program wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenpace.diagnose.formats.clean import bar_end, clean, decode, is_bar, segments


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("\x1b[31mERROR\x1b[0m x", "ERROR x"),
        ("\x1b[1;38;5;208mERROR\x1b[m x\x1b[K", "ERROR x"),
        ("\x1b[A\x1b[2K\x1b[?25hdone", "done"),
        ("\x1b]0;title\x07text \x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "text link"),
        ("^[[36m(Worker pid=3)^[[0m go", "(Worker pid=3) go"),
        ("#033[31mNVRM#033[0m", "NVRM"),
        ("[36m(Worker pid=3)[0m go", "(Worker pid=3) go"),
        ("waited [32m so far", "waited [32m so far"),
        ("a\x00b\x07c\ufeffd\u200be\x9bf", "abcdef"),
        ("N\x08NA\x08AM\x08M", "NAM"),
        ("one\r\ntwo\r\r\nthree", "one\ntwo\nthree"),
        ("a\xa0b\tc", "a b\tc"),
        ("naïve â€™ 학습", "naïve â€™ 학습"),
    ],
)
def test_control_characters_go(raw: str, text: str) -> None:
    assert clean(raw) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfhello", "hello"),
        ("héllo".encode("utf-16"), "héllo"),
        (b"\xfe\xff\x00h\x00i", "hi"),
        ("학습 █".encode(), "학습 █"),
        ("Datei nicht gefunden: Übung".encode("latin-1"), "Datei nicht gefunden: Übung"),
        ("학습 ok".encode()[1:], "\ufffd\ufffd습 ok"),
        (b"\x80\x81\x82\x83", "\ufffd\ufffd\ufffd\ufffd"),
    ],
)
def test_bytes_are_decoded(data: bytes, text: str) -> None:
    assert decode(data) == text


BAR = "train: {:3}%|███▌      | {}/100 [00:0{}<00:50,  1.20it/s]"


def test_only_the_last_redraw_of_a_bar_is_kept() -> None:
    line = "\r".join(BAR.format(n, n, n) for n in range(9))
    assert list(segments(line)) == [BAR.format(8, 8, 8)]


def test_an_error_between_redraws_is_kept() -> None:
    bars = [BAR.format(n, n, n) for n in range(4)]
    line = "\r".join([bars[0], bars[1] + "[rank3]:[E boom", "RuntimeError: 1/2", bars[2], bars[3]])
    assert list(segments(line)) == [bars[0], bars[1] + "[rank3]:[E boom", "RuntimeError: 1/2", bars[3]]


def test_bars_with_other_names_are_other_bars() -> None:
    line = "eval:  10%|█ | 1/10 [00:01<00:09, 1.0it/s]\rtrain:  20%|██ | 2/10 [00:02<00:08, 1.0it/s]"
    assert len(list(segments(line))) == 2


@pytest.mark.parametrize(
    "bar",
    [
        "  3%|▎         | 23/846 [02:19<1:22:44,  6.03s/it]",
        "100%|██████████| 2/2 [00:00<00:00, 94.31it/s]",
        "Map (num_proc=8):  12%|█▏ | 1.2k/9.8k [00:01<00:08, 1.1k examples/s]",
        "12it [00:03,  4.00it/s]",
        "9.07k row [44:10, 305 row/s]",
        "Epoch 0:   4%|▍ | 1/25 [00:59<23:40, 59.19s/it, v_num=4, loss=tensor([0.3])]",
    ],
)
def test_bars_are_known_and_end_at_their_bracket(bar: str) -> None:
    assert is_bar(bar)
    assert bar_end(bar + "Traceback") == len(bar)


@pytest.mark.parametrize("text", ["loss 0.3 | lr 1e-4", "[2024-01-01 10:00:00] x", "a [00:01] b", ""])
def test_other_text_is_no_bar(text: str) -> None:
    assert not is_bar(text)


@given(st.text())
def test_any_text_is_cleaned_and_never_grows(text: str) -> None:
    done = clean(text)
    assert len(done) <= len(text)
    assert not set(done) & {"\x1b", "\x00", "\x08"}
    assert sum(map(len, segments(done))) <= len(done)


@given(st.binary())
def test_any_bytes_are_decoded(data: bytes) -> None:
    assert len(decode(data)) <= len(data)


@given(st.text())
def test_utf8_stays_what_it_is(text: str) -> None:
    assert decode(b"\xef\xbb\xbf" + text.encode()) == text
